-- The tables, as of the first version. Ids are text and ordered by time; times are milliseconds since 1970; bodies are JSON that only
-- their owner reads. All text is compared by its bytes.

-- Whoever works on calls. It works as long as its lease runs, by the clock of this server, and nobody has taken its calls over.
CREATE SEQUENCE epochs;

CREATE TABLE workers (
    epoch      bigint      PRIMARY KEY,
    who        text        COLLATE "C" NOT NULL,
    state      text        COLLATE "C" NOT NULL CHECK (state IN ('working', 'released', 'fenced')),
    expires_at timestamptz NOT NULL
);

-- Whether the holder of a number still works; number 0 is that of an engine that never claimed any.
CREATE FUNCTION works(of bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT of = 0 OR EXISTS (
        SELECT FROM workers WHERE epoch = of AND state = 'working' AND expires_at > clock_timestamp()
    )
$$;

-- One row for each store that writes: how far its chain of the audit has grown, and the number of its newest commit, so that the result of
-- a commit whose connection was cut can be read back.
CREATE TABLE chains (
    chain bigint PRIMARY KEY,
    seq   bigint NOT NULL DEFAULT 0,
    head  text   COLLATE "C" NOT NULL DEFAULT '',
    turn  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE audit (
    chain bigint NOT NULL,
    seq   bigint NOT NULL,
    call  text   COLLATE "C",
    text  text   COLLATE "C" NOT NULL,
    hash  text   COLLATE "C" NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE INDEX audit_of_call ON audit (call) WHERE call IS NOT NULL;

CREATE TABLE checkpoints (
    chain     bigint NOT NULL,
    seq       bigint NOT NULL,
    head      text   COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    key       text   COLLATE "C" NOT NULL,
    signature text   COLLATE "C" NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE TABLE conversations (
    id         text   COLLATE "C" PRIMARY KEY,
    owner      text   COLLATE "C" NOT NULL,
    title      text   COLLATE "C" NOT NULL,
    agent      text   COLLATE "C" NOT NULL,
    workspace  text   COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE INDEX conversations_of_owner ON conversations (owner, updated_at, id);

CREATE TABLE messages (
    conversation text   COLLATE "C" NOT NULL REFERENCES conversations (id),
    seq          bigint NOT NULL,
    run          text   COLLATE "C",
    body         text   COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    PRIMARY KEY (conversation, seq)
);

CREATE TABLE runs (
    id           text   COLLATE "C" PRIMARY KEY,
    conversation text   COLLATE "C" NOT NULL,
    owner        text   COLLATE "C" NOT NULL,
    context      text   COLLATE "C" NOT NULL,
    status       text   COLLATE "C" NOT NULL CHECK (status IN ('running', 'paused', 'ended')),
    state        text   COLLATE "C" NOT NULL,
    epoch        bigint NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL
);

CREATE INDEX runs_of_owner ON runs (owner, created_at, id);
CREATE INDEX runs_of_owner_by_status ON runs (owner, status, created_at, id);

CREATE TABLE approvals (
    id       text COLLATE "C" PRIMARY KEY,
    owner    text COLLATE "C" NOT NULL,
    call     text COLLATE "C" NOT NULL,
    request  text COLLATE "C" NOT NULL,
    batch    text COLLATE "C" NOT NULL,
    setup    text COLLATE "C" NOT NULL,
    decision text COLLATE "C"
);

CREATE INDEX approvals_pending ON approvals (id) WHERE decision IS NULL;
CREATE INDEX approvals_of_call ON approvals (call, id);
CREATE INDEX approvals_of_owner ON approvals (owner, id);

-- `place` keeps the order in which they were given.
CREATE TABLE grants (
    place     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id        text COLLATE "C" NOT NULL UNIQUE,
    owner     text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    body      text COLLATE "C" NOT NULL
);

CREATE INDEX grants_of_operation ON grants (owner, operation);

CREATE TABLE facts (
    name  text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);

CREATE TABLE switches (
    owner   text    COLLATE "C" NOT NULL,
    name    text    COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    by      text    COLLATE "C" NOT NULL,
    at      bigint  NOT NULL,
    PRIMARY KEY (owner, name)
);

-- What a provider did not report is NULL, not 0. `body` holds the row as it was given.
CREATE TABLE usage (
    place       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner       text   COLLATE "C" NOT NULL,
    run         text   COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    by_model    text   COLLATE "C" NOT NULL,
    by_agent    text   COLLATE "C" NOT NULL,
    input       bigint,
    output      bigint,
    cache_read  bigint,
    cache_write bigint,
    reasoning   bigint,
    cost_micros bigint,
    body        text   COLLATE "C" NOT NULL
);

CREATE INDEX usage_of_owner ON usage (owner, at);
CREATE INDEX usage_of_run ON usage (run, place);

CREATE TABLE batches (
    id          text    COLLATE "C" PRIMARY KEY,
    owner       text    COLLATE "C" NOT NULL,
    key         text    COLLATE "C",
    fingerprint text    COLLATE "C",
    body        text    COLLATE "C" NOT NULL,
    calls       text[]  COLLATE "C" NOT NULL,
    epoch       bigint  NOT NULL,
    is_done     boolean NOT NULL DEFAULT false,
    UNIQUE (owner, key)
);

CREATE INDEX batches_open ON batches (epoch) WHERE NOT is_done;

-- A call from its start on; without `outcome` it is open. `facts` and `ending` hold all that is known; the other columns are what is
-- looked for and added up.
CREATE TABLE calls (
    id            text    COLLATE "C" PRIMARY KEY,
    owner         text    COLLATE "C" NOT NULL,
    tool          text    COLLATE "C",
    operation     text    COLLATE "C",
    agent         text    COLLATE "C" NOT NULL,
    conversation  text    COLLATE "C" NOT NULL,
    run           text    COLLATE "C",
    received_at   bigint  NOT NULL,
    started_at    bigint,
    epoch         bigint  NOT NULL,
    is_repeatable boolean NOT NULL,
    facts         text    COLLATE "C" NOT NULL,
    outcome       text    COLLATE "C",
    is_error      boolean,
    attempts      bigint,
    run_nanos     bigint,
    ended_at      bigint,
    ending        text    COLLATE "C",
    result        text    COLLATE "C"
);

CREATE INDEX calls_of_owner ON calls (owner, id);
CREATE INDEX calls_of_tool ON calls (owner, tool, id);
CREATE INDEX calls_of_conversation ON calls (owner, conversation, id);
CREATE INDEX calls_of_run ON calls (run, id) WHERE run IS NOT NULL;
CREATE INDEX calls_open ON calls (epoch) WHERE outcome IS NULL;
