-- Artifacts with their content, which every process on the database can read. `body` of an artifact has all the rest.

CREATE TABLE artifacts (
    ref        text   COLLATE "C" PRIMARY KEY,
    owner      text   COLLATE "C" NOT NULL,
    bytes      bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    body       text   COLLATE "C" NOT NULL
);

CREATE INDEX artifacts_of_owner ON artifacts (owner, created_at, ref);
CREATE INDEX artifacts_expiring ON artifacts (expires_at);

-- Runs that made an artifact: several may have made the same, and each keeps it while it goes on or waits.
CREATE TABLE artifact_runs (
    run      text   COLLATE "C" NOT NULL,
    artifact text   COLLATE "C" NOT NULL REFERENCES artifacts (ref) ON DELETE CASCADE,
    bytes    bigint NOT NULL,
    PRIMARY KEY (run, artifact)
);

CREATE INDEX artifact_runs_of_artifact ON artifact_runs (artifact);

-- The content, in parts of 1 MiB. Parts come before the row of their artifact, so there is no foreign key.
CREATE TABLE artifact_parts (
    artifact   text        COLLATE "C" NOT NULL,
    part       integer     NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now(),
    content    bytea       NOT NULL,
    PRIMARY KEY (artifact, part)
);
