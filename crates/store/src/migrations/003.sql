-- What models used, switches, artifacts. Facts get an owner: today there is one, whose name is empty.

ALTER TABLE facts ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- What a provider did not report is NULL, not 0.
CREATE TABLE usage (
    place        INTEGER PRIMARY KEY,
    owner        TEXT    NOT NULL,
    run          TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    provider     TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    input        INTEGER,
    output       INTEGER,
    cache_read   INTEGER,
    cache_write  INTEGER,
    reasoning    INTEGER,
    cost_micros  INTEGER,
    model_window INTEGER,
    at           INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_of_owner ON usage (owner, at);
CREATE INDEX usage_of_run ON usage (run);

CREATE TABLE switches (
    owner   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    enabled INTEGER NOT NULL,
    by      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- The bytes of an artifact are in a file that is named like it.
CREATE TABLE artifacts (
    ref          TEXT    NOT NULL PRIMARY KEY,
    owner        TEXT    NOT NULL,
    sha256       TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    total_bytes  INTEGER NOT NULL,
    media_type   TEXT    NOT NULL,
    trust        TEXT    NOT NULL,
    source       TEXT,
    call         TEXT    NOT NULL,
    run          TEXT,
    conversation TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX artifacts_of_owner ON artifacts (owner, created_at, ref, bytes);
CREATE INDEX artifacts_by_end ON artifacts (expires_at);

-- Runs that made an artifact: several may have made the same, and each keeps it while it goes on or waits.
CREATE TABLE artifact_runs (
    run      TEXT    NOT NULL,
    artifact TEXT    NOT NULL REFERENCES artifacts (ref) ON DELETE CASCADE,
    bytes    INTEGER NOT NULL,
    PRIMARY KEY (run, artifact)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_runs_of_artifact ON artifact_runs (artifact);

-- Looking back at calls. The first holds what pages are filtered by, so that a rare one is found without reading every row; calls that did
-- not succeed are few, and looked for; the last holds all that metrics need, and is written once per call, at its end.
CREATE INDEX calls_of_owner ON calls (owner, id, received_at, tool, operation, agent, run);
CREATE INDEX calls_of_conversation ON calls (conversation, id) WHERE conversation <> '';
CREATE INDEX calls_not_well ON calls (owner, id, outcome) WHERE outcome <> 'succeeded';
CREATE INDEX calls_ended ON calls
    (owner, received_at, id, tool, agent, outcome, error_type, attempts, run_nanos, ended_at)
    WHERE outcome IS NOT NULL;
