-- A switch has three states: off, ask and on.

ALTER TABLE switches ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT 'off';
UPDATE switches SET state = 'on' WHERE enabled;
ALTER TABLE switches DROP COLUMN enabled;
