-- Memories and tasks. `revision` of a memory is the number of its last change; `body` has all the rest.

CREATE TABLE memories (
    owner    text   COLLATE "C" NOT NULL,
    key      text   COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    body     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE TABLE memory_changes (
    number  bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   text    COLLATE "C" NOT NULL,
    key     text    COLLATE "C" NOT NULL,
    before  text    COLLATE "C",
    author  text    COLLATE "C" NOT NULL,
    at      bigint  NOT NULL,
    is_undo boolean NOT NULL,
    undone  boolean NOT NULL DEFAULT false
);

CREATE INDEX memory_changes_of_owner ON memory_changes (owner, number);

-- `wake_at` is when a scheduler has to look at the task.
CREATE TABLE tasks (
    id       text   COLLATE "C" PRIMARY KEY,
    owner    text   COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    wake_at  bigint,
    body     text   COLLATE "C" NOT NULL
);

CREATE INDEX tasks_of_owner ON tasks (owner, id);
CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;
