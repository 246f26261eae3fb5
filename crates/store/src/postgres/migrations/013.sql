-- Deleted conversations, with what restoring them needs. Nothing else reads these rows.

CREATE TABLE deleted_conversations (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL,
    title      text COLLATE "C" NOT NULL,
    agent      text COLLATE "C" NOT NULL,
    workspace  text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint NOT NULL
);

CREATE INDEX deleted_conversations_of_owner ON deleted_conversations (owner, deleted_at, id);
CREATE INDEX deleted_conversations_by_time ON deleted_conversations (deleted_at);

CREATE TABLE deleted_messages (
    conversation text COLLATE "C" NOT NULL REFERENCES deleted_conversations (id) ON DELETE CASCADE,
    seq          bigint NOT NULL,
    run          text COLLATE "C",
    body         text COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    PRIMARY KEY (conversation, seq)
);

CREATE TABLE deleted_runs (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    conversation text COLLATE "C" NOT NULL REFERENCES deleted_conversations (id) ON DELETE CASCADE,
    owner        text COLLATE "C" NOT NULL,
    context      text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL,
    epoch        bigint NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL
);

CREATE INDEX deleted_runs_of_conversation ON deleted_runs (conversation);
