-- Calls with their outcomes, accepted batches, whoever works on them, and the audit.

ALTER TABLE approvals ADD COLUMN call TEXT;
ALTER TABLE approvals ADD COLUMN setup TEXT NOT NULL DEFAULT 'null';
UPDATE approvals SET call = json_extract(request, '$.call');
CREATE INDEX approvals_of_call ON approvals (call, id);
CREATE INDEX approvals_of_owner ON approvals (owner, id);
