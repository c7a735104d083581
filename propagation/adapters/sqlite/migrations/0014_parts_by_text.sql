-- Schema 14: the parts of messages are found by the text that brought them: retention asks of each text whether one is left.
DROP INDEX integrated_ref;
CREATE INDEX integrated_text ON integrated (ref, profile_version);
