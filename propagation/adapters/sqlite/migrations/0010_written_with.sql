-- What wrote an interaction's texts: the prompts with their versions (a JSON list; NULL where no language model was asked), and who
-- stood in for the model where it could not answer.
ALTER TABLE reasoned ADD COLUMN prompts TEXT;
ALTER TABLE reasoned ADD COLUMN stand_in TEXT;
