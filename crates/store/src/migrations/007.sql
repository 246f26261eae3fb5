-- A call needs one approval in its life: what two processes ask about it, one of which was taken for dead, is one question. A model's own
-- questions name no call here, and older rows stay as they are.

ALTER TABLE approvals ADD COLUMN approves TEXT;
CREATE UNIQUE INDEX approvals_of_one_call ON approvals (approves) WHERE approves IS NOT NULL;
