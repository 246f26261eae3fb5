//! Every default and limit that comes from a seed or a standard, in one table that cites its source.
//!
//! Sources: `000` Kai, `001` OneClaw FEAT-004, `002` Morphix tools layer, `003` Ravi tools, `004` Chalie tools; `SPEC` and `DESIGN` are the project's own pages.

use std::time::Duration;

/// Timeout of a tool that declares none (seeds 000 and 001: 30 s).
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of simple queries such as the time (seed 001: 5 s).
pub const TIMEOUT_SIMPLE: Duration = Duration::from_secs(5);
/// Timeout of local file operations (seed 001: 10 s).
pub const TIMEOUT_FILE: Duration = Duration::from_secs(10);
/// Timeout of network requests (seed 001: 30 s).
pub const TIMEOUT_NETWORK: Duration = Duration::from_secs(30);
/// Timeout of `fetch_url` (SPEC 1.9: 15 s).
pub const TIMEOUT_FETCH: Duration = Duration::from_secs(15);

/// Characters of result text that a model gets, marker and count line included (seed 000: 20,000).
pub const RESULT_CHARS: usize = 20_000;
/// Bytes of one result that are spilled to an artifact; the rest is counted, then dropped (DESIGN 5: 256 MB).
pub const SPILL_BYTES: u64 = 256 * 1024 * 1024;
/// Characters of an error text that a model gets; longer ones are cut in the middle (SPEC 6.3; issue: validation errors stay under 4 KB).
pub const ERROR_CHARS: usize = 4_000;

/// Attempts of a call that may be retried, the first one included (seed 002: `tool_max_retries` 3).
pub const RETRY_ATTEMPTS: u32 = 3;
/// Base of the wait before attempt n + 1, in seconds: `base^n` (seed 002: `tool_backoff_base` 1.5).
pub const RETRY_BASE: f64 = 1.5;
/// Upper end of the random seconds added to each wait (SPEC 3.2: U(0, 0.5)).
pub const RETRY_JITTER: f64 = 0.5;

/// Time between two words of a call on how far it is; what comes sooner is left out (people read no faster; the seeds have none).
pub const PROGRESS_STEP: Duration = Duration::from_millis(100);
/// Characters of such a word, from its end (a screen of text).
pub const PROGRESS_CHARS: usize = 2_000;

/// The n-th identical batch, turn of a cycle or error that is refused (seed 000: 3).
pub const REPEAT_LIMIT: usize = 3;
/// Longest cycle of batches that the repeat guard sees (DESIGN 9: period 2 to 4).
pub const REPEAT_PERIOD: usize = 4;

/// Calls per run (DESIGN 9, Budgets).
pub const RUN_CALLS: u64 = 500;
/// Wall time per run, waiting for people excluded (DESIGN 9, Budgets: 1 h).
pub const RUN_TIME: Duration = Duration::from_secs(3600);
/// Calls of one batch that run at once (DESIGN 9, Budgets: 32).
pub const BATCH_CONCURRENCY: usize = 32;
/// Characters per token where only an estimate is possible (SPEC 1.8: 4).
pub const CHARS_PER_TOKEN: u64 = 4;

/// Time a guard hook has before its call is denied (DESIGN 9, Hooks: 2 s).
pub const GUARD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a person is waited for in an interactive session (DESIGN 9, Channels: 300 s).
pub const APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Bytes of argument text that are read at all (SPEC 6.3, Argument errors; larger data belongs in a file or an artifact).
pub const ARGUMENT_BYTES: usize = 16 * 1024 * 1024;
/// Changes of files kept for undo, per workspace (SPEC 10, Undo: 50).
pub const UNDO_ENTRIES: usize = 50;
/// How long an artifact that nothing pins is kept (the seeds' hour suits a cache server; a conversation on a command line lasts longer).
pub const ARTIFACT_TTL: Duration = Duration::from_secs(24 * 3600);
/// Bytes of artifacts that are kept for one owner (SPEC 4.5 asks for a quota; the seeds have none: eight results of the largest kind).
pub const ARTIFACT_OWNER_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Bytes of artifacts that are kept for one run (SPEC 4.5, quota per run): half of what an owner has, so that no run takes it all.
pub const ARTIFACT_RUN_BYTES: u64 = 1024 * 1024 * 1024;
