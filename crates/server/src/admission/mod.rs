//! Admission: the limits that a request passes before the daemon processes it.
//!
//! One client with thousands of connections, requests or calls must not delay the others. A request
//! passes five limits, in this order; each of them knows more about the request than the one
//! before.
//!
//! 1. **Connections** ([`ConnectionLimiter`], applied by `listen::acceptor`). Counted per address
//!    until a token is shown, then per client. When the limit is reached, the oldest connection
//!    without a token is evicted; if there is none, the new one is closed. A client with too many
//!    connections is answered 429 (`middleware::request_checks`).
//! 2. **Requests that are read and checked** (`request_admission`, applied by
//!    `listen::connection`). Queued per client, or before the token is checked per address and hash
//!    of the claimed token.
//! 3. **Requests per minute** (`rate_limit`, applied by `middleware::request_checks`). Counted per
//!    client, or without a token per network. Answered 429 with `Retry-After`.
//! 4. **Failed logins per minute** (`login_throttle`, applied by `middleware::request_checks`).
//!    Counted per network. The answer is delayed, and is 429.
//! 5. **Calls** (`call_admission`, applied by `active_requests::call_runner`). Queued per client;
//!    answered 429 if the queue is full.
//!
//! Requests that compute for milliseconds, such as comparing with rules, have a separate small
//! queue (`api::run_cpu_bound`).
//!
//! # Permits
//!
//! Limits 1, 2 and 5 give out permits, which are returned on drop:
//!
//! - A [`ConnectionPermit`] lives as long as its connection. It is in the extensions of every
//!   request of the connection, so that the middleware can assign the connection to the client
//!   whose token it saw ([`ConnectionPermit::assign_client`]).
//! - `RequestAdmission::admit` owns the permit of a request until there is a response. The request
//!   carries a `RequestPermit` in its extensions, a weak handle to that permit.
//! - A handler that makes calls extracts an [`AdmittedCaller`]: the principal and the
//!   `RequestPermit`. `CallAdmission::acquire` takes it, releases the request permit and enters the
//!   queue of calls. A request therefore never counts as being read while it waits for a slot for
//!   its calls.
//! - A call [`Permit`] is held until the calls of its request have ended, also after the client has
//!   disconnected.
//!
//! # Starting
//!
//! Limits 2 and 5 are both a [`FairQueue`]: slots are shared round-robin between clients, and only
//! a few permits of one client may be *starting*. A permit stops starting 2 ms after it was granted
//! ([`START_TIME`]), or earlier if [`Permit::mark_started`] is called: by then the work has ended
//! or waits for something other than a processor. Without this bound, hundreds of tasks that become
//! runnable together precede every other client in the run queue of the runtime.
//!
//! # Exempt
//!
//! `PUT /kill-switch` skips limit 2, and limits 1 and 3 if its token has the role operator
//! ([`is_exempt`]); it makes no calls, so limit 5 does not apply. The owner of an overloaded daemon
//! can always stop it. Processes on the unix socket have a reserve of connections for the same
//! reason.

mod admission_state;
mod admitted_caller;
mod call_admission;
mod connection_limit;
mod exempt;
mod fair_queue;
mod fd_limit;
mod login_throttle;
mod network_prefix;
mod rate_limit;
mod request_admission;

pub(crate) use admission_state::Admission;
pub(crate) use admitted_caller::AdmittedCaller;
pub(crate) use call_admission::CallRefused;
pub(crate) use connection_limit::{ConnectionLimiter, ConnectionPermit, TooManyConnections};
pub(crate) use exempt::is_exempt;
pub(crate) use fair_queue::{FairQueue, Permit, START_TIME};
pub(crate) use network_prefix::network_prefix;
pub(crate) use rate_limit::{ClientRateLimits, RateLimitStatus, RateLimited};
