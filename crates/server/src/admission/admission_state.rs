//! The limits of one daemon that last as long as it does.

use std::num::NonZero;

use toolcrib_core::CancellationToken;

use super::call_admission::CallAdmission;
use super::fair_queue::FairQueue;
use super::login_throttle::LoginThrottle;
use super::rate_limit::ClientRateLimits;
use super::request_admission::RequestAdmission;
use crate::settings::DaemonSettings;

/// The limits of one daemon, except that of connections: its size depends on how many files the
/// process may open, which is known when the daemon listens.
pub(crate) struct Admission {
    /// Requests that are read and checked.
    pub(crate) requests: RequestAdmission,
    /// Requests per minute.
    pub(crate) rates: ClientRateLimits,
    /// Failed logins per minute.
    pub(crate) logins: LoginThrottle,
    /// Calls.
    pub(crate) calls: CallAdmission,
    /// Requests that compute, such as comparing with rules.
    pub(crate) computations: FairQueue,
}

impl Admission {
    /// The limits of these settings. `batch_concurrency` is how many calls of one batch the engine
    /// runs at once; `shutdown` ends the waiting for a slot.
    pub(crate) fn new(
        settings: &DaemonSettings,
        batch_concurrency: usize,
        shutdown: CancellationToken,
    ) -> Self {
        let starting = max_starting_per_client();
        let queue = FairQueue::new(settings.calls_at_once, starting, settings.calls_waiting);
        Self {
            requests: RequestAdmission::new(starting),
            rates: ClientRateLimits::per_minute(settings.requests_per_minute),
            logins: LoginThrottle::with_limit(settings.failed_logins_per_minute),
            calls: CallAdmission::new(queue, batch_concurrency, shutdown),
            computations: FairQueue::new(max_computations(), 1, MAX_WAITING_COMPUTATIONS),
        }
    }
}

/// Computations that may wait; each takes milliseconds.
const MAX_WAITING_COMPUTATIONS: usize = 256;

/// Computations at once: half of the processors are left for other requests, such as the kill
/// switch.
fn max_computations() -> usize {
    (std::thread::available_parallelism().map_or(1, NonZero::get) / 2).max(1)
}

/// Permits of one client that may be starting: two for each processor keep all of them busy, and
/// other clients wait behind no more than that.
fn max_starting_per_client() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}
