-- Calls with their outcomes, accepted batches, whoever works on them, and the audit.

ALTER TABLE approvals ADD COLUMN call TEXT;
ALTER TABLE approvals ADD COLUMN setup TEXT NOT NULL DEFAULT 'null';
UPDATE approvals SET call = json_extract(request, '$.call');
CREATE INDEX approvals_of_call ON approvals (call, id);
CREATE INDEX approvals_of_owner ON approvals (owner, id);

-- Whoever works on calls. Numbers are never given out twice; whether a worker lives is told by its lock file.
CREATE TABLE workers (
    epoch      INTEGER PRIMARY KEY AUTOINCREMENT,
    who        TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;

CREATE INDEX workers_at_work ON workers (epoch) WHERE ended_at IS NULL;

CREATE TABLE batches (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    key         TEXT,
    fingerprint TEXT,
    body        TEXT    NOT NULL,
    accepted_at INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    done        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, key)
) STRICT;

CREATE INDEX batches_open ON batches (id) WHERE done = 0;

-- A call from its start on; without `outcome` it is open. What it ended with, as text, is in `outcomes`, so that lists of calls are small.
-- `earlier` is a JSON list of the attempts before this one that a crash cut off, each with epoch and started_at.
CREATE TABLE calls (
    place           INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    owner           TEXT    NOT NULL,
    run             TEXT,
    conversation    TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    workspace       TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    device          TEXT    NOT NULL,
    topic           TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    tool            TEXT,
    asked           TEXT,
    operation       TEXT,
    definition_hash TEXT,
    risk            TEXT,
    effect          TEXT,
    args            TEXT,
    args_hash       TEXT,
    approval        TEXT,
    approved_by     TEXT,
    received_at     INTEGER NOT NULL,
    started_at      INTEGER,
    epoch           INTEGER NOT NULL,
    earlier         TEXT,
    outcome         TEXT,
    error_type      TEXT,
    message         TEXT,
    attempts        INTEGER,
    run_nanos       INTEGER,
    ended_at        INTEGER,
    output_hash     TEXT
) STRICT;

CREATE INDEX calls_open ON calls (id) WHERE outcome IS NULL;

-- By the place of its call, so that writing one touches no index.
CREATE TABLE outcomes (
    call INTEGER PRIMARY KEY REFERENCES calls (place),
    text TEXT    NOT NULL
) STRICT;

-- One chain: each hash covers the one before it. `text` is the record, `hash` its 32 bytes.
CREATE TABLE audit (
    seq   INTEGER PRIMARY KEY,
    chain INTEGER NOT NULL,
    call  TEXT,
    hash  BLOB    NOT NULL,
    text  TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_of_call ON audit (call, seq) WHERE call IS NOT NULL;

CREATE TABLE audit_checkpoints (
    seq       INTEGER PRIMARY KEY,
    chain     INTEGER NOT NULL,
    head      TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    signature TEXT    NOT NULL
) STRICT;
