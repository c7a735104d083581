-- Schema 13: the parts of a message are found by client too: whoever asks for its first senders reads those alone, of a message
-- from thousands of clients as of one from few.
DROP INDEX integrated_message;
CREATE INDEX integrated_message ON integrated (router, version, ref);
