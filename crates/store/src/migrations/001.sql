-- The first tables. Ids are text and ordered by time; times are milliseconds since 1970; bodies are JSON that only their owner reads.

CREATE TABLE conversations (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations_of_owner ON conversations (owner, updated_at, id);

CREATE TABLE messages (
    conversation TEXT    NOT NULL REFERENCES conversations (id),
    seq          INTEGER NOT NULL,
    run          TEXT,
    body         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT;

CREATE TABLE runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    conversation TEXT    NOT NULL REFERENCES conversations (id),
    owner        TEXT    NOT NULL,
    context      TEXT    NOT NULL,
    status       TEXT    NOT NULL CHECK (status IN ('running', 'paused', 'ended')),
    state        TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_of_owner ON runs (owner, created_at, id);
CREATE INDEX runs_of_owner_by_status ON runs (owner, status, created_at, id);
CREATE INDEX runs_of_conversation ON runs (conversation);

CREATE TABLE approvals (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner        TEXT    NOT NULL,
    run          TEXT,
    request      TEXT    NOT NULL,
    batch        TEXT    NOT NULL,
    requested_at INTEGER NOT NULL,
    decision     TEXT
) STRICT;

CREATE INDEX approvals_pending ON approvals (id) WHERE decision IS NULL;

-- `place` keeps the order in which they were given.
CREATE TABLE grants (
    place     INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    owner     TEXT NOT NULL,
    operation TEXT NOT NULL,
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX grants_of_operation ON grants (owner, operation);

CREATE TABLE facts (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
