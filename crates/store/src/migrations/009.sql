-- Lists, goals, instructions and documents. `revision` is the number of the last change of a row;
-- `body` has all the rest.

CREATE TABLE assistant_rows (
    owner    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (owner, kind, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX assistant_rows_of_kind ON assistant_rows (kind, owner);

CREATE TABLE assistant_changes (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    owner   TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    before  TEXT,
    note    TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    is_undo INTEGER NOT NULL,
    undone  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX assistant_changes_of_kind ON assistant_changes (owner, kind, number);
