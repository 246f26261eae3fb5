-- The installation that a worker belongs to. Only one process of an installation works at a time,
-- so the next one knows that the claims of those before it are left behind.

ALTER TABLE workers ADD COLUMN instance text COLLATE "C";
