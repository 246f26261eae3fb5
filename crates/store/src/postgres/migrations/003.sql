-- Tokens of people and programs. `body` is what was given when it was made and never changes; of the token itself only the hash is kept.

CREATE TABLE tokens (
    id           text   COLLATE "C" PRIMARY KEY,
    hash         text   COLLATE "C" NOT NULL UNIQUE,
    body         text   COLLATE "C" NOT NULL,
    revoked_at   bigint,
    revoked_by   text   COLLATE "C",
    last_used_at bigint
);
