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

-- The text of documents. A page of 0 = the document has none; `start` counts characters in a page.
CREATE TABLE document_chunks (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    owner    TEXT    NOT NULL,
    document TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    page     INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    text     TEXT    NOT NULL,
    vector   BLOB    NOT NULL,
    UNIQUE (owner, document, number)
) STRICT;

CREATE INDEX document_chunks_of_owner ON document_chunks (owner, id);

CREATE VIRTUAL TABLE document_words USING fts5 (
    text, content = 'document_chunks', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER document_chunks_added AFTER INSERT ON document_chunks BEGIN
    INSERT INTO document_words (rowid, text) VALUES (new.id, new.text);
END;

CREATE TRIGGER document_chunks_removed AFTER DELETE ON document_chunks BEGIN
    INSERT INTO document_words (document_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
