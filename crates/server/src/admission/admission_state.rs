//! The limits that last as long as the daemon.

use std::num::NonZero;

use toolcrib_core::CancellationToken;

use super::call_admission::CallAdmission;
use super::fair_queue::FairQueue;
use super::login_throttle::LoginThrottle;
use super::rate_limit::ClientRateLimits;
use super::request_admission::RequestAdmission;
use crate::settings::DaemonSettings;

/// The limits of one daemon, except the limit on connections: it depends on how many files the
/// process may open, which is known when the daemon listens.
pub(crate) struct Admission {
    /// Limit on requests that are being read and checked.
    pub(crate) requests: RequestAdmission,
    /// Limit on requests per minute.
    pub(crate) rates: ClientRateLimits,
    /// Limit on failed logins per minute.
    pub(crate) logins: LoginThrottle,
    /// Limit on running calls.
    pub(crate) calls: CallAdmission,
    /// Limit on requests that compute, such as comparing with rules.
    pub(crate) computations: FairQueue,
}

impl Admission {
    /// Creates the limits of these settings. `batch_concurrency` is the number of calls of one
    /// batch that the engine runs at once; `shutdown` ends the waiting for a slot.
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

/// Maximum number of waiting computations; each takes milliseconds.
const MAX_WAITING_COMPUTATIONS: usize = 256;

/// Returns the number of concurrent computations: half of the processors are left for other
/// requests, such as the kill switch.
fn max_computations() -> usize {
    (std::thread::available_parallelism().map_or(1, NonZero::get) / 2).max(1)
}

/// Returns the number of permits of one client that may be starting: two for each processor keep
/// all of them busy, and other clients wait behind no more than that.
fn max_starting_per_client() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}
