-- What policy said of a call, in one line.

ALTER TABLE calls ADD COLUMN policy TEXT;
