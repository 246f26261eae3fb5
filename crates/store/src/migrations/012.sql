-- Deleted conversations, with what restoring them needs. Nothing else reads these rows.

CREATE TABLE deleted_conversations (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_conversations_of_owner ON deleted_conversations (owner, deleted_at, id);
CREATE INDEX deleted_conversations_by_time ON deleted_conversations (deleted_at);

CREATE TABLE deleted_messages (
    conversation TEXT    NOT NULL REFERENCES deleted_conversations (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    run          TEXT,
    body         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT;

CREATE TABLE deleted_runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    conversation TEXT    NOT NULL REFERENCES deleted_conversations (id) ON DELETE CASCADE,
    owner        TEXT    NOT NULL,
    context      TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX deleted_runs_of_conversation ON deleted_runs (conversation);
