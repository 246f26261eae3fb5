//! Defaults and limits of calls, runs and artifacts, in one table. `cargo xtask gen` builds
//! `docs/defaults.md` from it.

use std::time::Duration;

/// Timeout of a tool that declares none.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of simple queries, such as the time.
pub const TIMEOUT_SIMPLE: Duration = Duration::from_secs(5);
/// Timeout of local file operations.
pub const TIMEOUT_FILE: Duration = Duration::from_secs(10);
/// Timeout of network requests.
pub const TIMEOUT_NETWORK: Duration = Duration::from_secs(30);
/// Timeout of `fetch_url`.
pub const TIMEOUT_FETCH: Duration = Duration::from_secs(15);

/// Maximum characters of result text that a model gets, including the marker and the count line:
/// about 5,000 tokens.
pub const RESULT_CHARS: usize = 20_000;
/// Maximum bytes of one result that are stored as an artifact; the rest is counted and dropped.
pub const MAX_ARTIFACT_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum characters of an error message that a model gets; longer messages are cut in the middle.
pub const ERROR_CHARS: usize = 4_000;

/// Attempts of a call that can be retried, including the first.
pub const RETRY_ATTEMPTS: u32 = 3;
/// Wait before the second attempt of a tool whose settings name no other.
pub const RETRY_BACKOFF: Duration = Duration::from_millis(1_500);
/// Each further wait is this many times as long as the one before.
pub const RETRY_FACTOR: f64 = 1.5;
/// Upper bound of the random share that is added to each wait, uniformly distributed.
pub const RETRY_JITTER: f64 = 0.3;
/// Most attempts that the settings of a tool may name.
pub const MAX_RETRY_ATTEMPTS: u32 = 20;

/// Minimum time between two progress reports of a call; earlier ones are dropped, because people
/// read no faster.
pub const PROGRESS_STEP: Duration = Duration::from_millis(100);
/// Maximum characters of a progress message, counted from its end: about one screen of text.
pub const PROGRESS_CHARS: usize = 2_000;

/// The n-th identical batch, cycle or error is refused.
pub const REPEAT_LIMIT: usize = 3;
/// Longest cycle of batches that the repeat guard detects.
pub const REPEAT_PERIOD: usize = 4;

/// Maximum calls per run.
pub const RUN_CALLS: u64 = 500;
/// Maximum working time per run, excluding waiting for people.
pub const RUN_TIME: Duration = Duration::from_secs(3600);
/// Calls of one batch that run concurrently.
pub const BATCH_CONCURRENCY: usize = 32;
/// Characters per token, for estimates.
pub const CHARS_PER_TOKEN: u64 = 4;

/// Timeout of a guard, after which its call is denied.
pub const GUARD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an interactive session waits for a decision.
pub const APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum bytes of argument text that are parsed. Larger data belongs in a file or an artifact.
pub const ARGUMENT_BYTES: usize = 16 * 1024 * 1024;
/// File changes stored for undo, per workspace.
pub const UNDO_ENTRIES: usize = 50;
/// Lifetime of an artifact that nothing pins: long enough for a conversation on the command line.
pub const ARTIFACT_TTL: Duration = Duration::from_secs(24 * 3600);
/// Quota of artifact bytes per owner: eight artifacts of the largest size.
pub const ARTIFACT_OWNER_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Quota of artifact bytes per run: half of the owner's quota, so that one run cannot use all of
/// it.
pub const ARTIFACT_RUN_BYTES: u64 = 1024 * 1024 * 1024;
