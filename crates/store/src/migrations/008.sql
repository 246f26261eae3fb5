-- Memories and tasks. `revision` of a memory is the number of its last change; `body` has all the rest.

CREATE TABLE memories (
    owner    TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_changes (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    owner   TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    before  TEXT,
    author  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    is_undo INTEGER NOT NULL,
    undone  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX memory_changes_of_owner ON memory_changes (owner, number);

-- `wake_at` is when a scheduler has to look at the task.
CREATE TABLE tasks (
    id       TEXT    NOT NULL PRIMARY KEY,
    owner    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    wake_at  INTEGER,
    body     TEXT    NOT NULL
) STRICT;

CREATE INDEX tasks_of_owner ON tasks (owner, id);
CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;
