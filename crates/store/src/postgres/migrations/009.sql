-- Lists, goals, instructions and documents. `revision` is the number of the last change of a row;
-- `body` has all the rest.

CREATE TABLE assistant_rows (
    owner    text   COLLATE "C" NOT NULL,
    kind     text   COLLATE "C" NOT NULL,
    key      text   COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    body     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, kind, key)
);

CREATE INDEX assistant_rows_of_kind ON assistant_rows (kind, owner);

CREATE TABLE assistant_changes (
    number  bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   text    COLLATE "C" NOT NULL,
    kind    text    COLLATE "C" NOT NULL,
    key     text    COLLATE "C" NOT NULL,
    before  text    COLLATE "C",
    note    text    COLLATE "C" NOT NULL,
    author  text    COLLATE "C" NOT NULL,
    at      bigint  NOT NULL,
    is_undo boolean NOT NULL,
    undone  boolean NOT NULL DEFAULT false
);

CREATE INDEX assistant_changes_of_kind ON assistant_changes (owner, kind, number);

-- The text of documents. A page of 0 = the document has none; `start` counts characters in a page.
CREATE TABLE document_chunks (
    id       bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner    text    COLLATE "C" NOT NULL,
    document text    COLLATE "C" NOT NULL,
    number   bigint  NOT NULL,
    page     bigint  NOT NULL,
    start    bigint  NOT NULL,
    text     text    COLLATE "C" NOT NULL,
    vector   bytea   NOT NULL,
    words    tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED,
    UNIQUE (owner, document, number)
);

CREATE INDEX document_chunks_of_owner ON document_chunks (owner, id);
CREATE INDEX document_chunks_words ON document_chunks USING gin (words);
