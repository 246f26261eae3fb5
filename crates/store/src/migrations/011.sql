-- The call that made a call, such as a script.

ALTER TABLE calls ADD COLUMN parent TEXT;

CREATE INDEX calls_of_parent ON calls (parent, id) WHERE parent IS NOT NULL;
