-- The daemons of a store are shown to people: on which machine each works, in which version, since when, and when it last renewed its lease.
-- Commands leave these empty.

ALTER TABLE workers
    ADD COLUMN host       text COLLATE "C",
    ADD COLUMN pid        bigint,
    ADD COLUMN version    text COLLATE "C",
    ADD COLUMN started_at timestamptz,
    ADD COLUMN renewed_at timestamptz;
CREATE INDEX workers_daemons ON workers (expires_at) WHERE host IS NOT NULL;
