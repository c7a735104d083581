-- What wrote texts outside of interactions: the prompts with their versions, or who stood in; NULL where no model was asked.
ALTER TABLE profile_version ADD COLUMN written_by TEXT;
ALTER TABLE router_version ADD COLUMN written_by TEXT;
