-- Tokens of people and programs. `body` is what was given when it was made and never changes; of the token itself only the hash is kept.

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         TEXT    NOT NULL UNIQUE,
    body         TEXT    NOT NULL,
    revoked_at   INTEGER,
    revoked_by   TEXT,
    last_used_at INTEGER
) STRICT;
