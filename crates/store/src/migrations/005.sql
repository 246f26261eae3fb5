-- A switch has three states: off, ask and on.

ALTER TABLE switches ADD COLUMN state TEXT NOT NULL DEFAULT 'off';
UPDATE switches SET state = 'on' WHERE enabled <> 0;
ALTER TABLE switches DROP COLUMN enabled;
