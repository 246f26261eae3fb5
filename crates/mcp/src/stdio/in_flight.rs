//! Requests in flight on the fast path.

use std::collections::HashMap;
use std::time::Duration;

use rmcp::model::RequestId;
use tokio::task::{AbortHandle, JoinSet};

/// How long running work is awaited after the other side has closed, as in rmcp.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum responses that wait to be written. A peer that never reads them is no longer read from.
const MAX_PENDING_WRITES: usize = 1_024;

/// Requests in flight. Dropping them cancels the requests.
#[derive(Default)]
pub(super) struct InFlightRequests {
    /// Running work, with its request.
    work: JoinSet<RequestId>,
    /// Writes that belong to no request.
    said: JoinSet<()>,
    by_id: HashMap<RequestId, AbortHandle>,
}

impl InFlightRequests {
    /// Continues the work of a request.
    pub(super) fn spawn_request(
        &mut self,
        id: RequestId,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.remove_finished();
        let own = id.clone();
        let handle = self.work.spawn(async move {
            work.await;
            own
        });
        self.by_id.insert(id, handle);
    }

    /// Runs a write that belongs to no request.
    pub(super) fn spawn_write(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.said.spawn(work);
    }

    /// Waits until another response may be queued. Cancel safe.
    pub(super) async fn wait_for_room(&mut self) {
        while self.said.try_join_next().is_some() {}
        while self.said.len() >= MAX_PENDING_WRITES {
            self.said.join_next().await;
        }
    }

    /// Removes finished work.
    fn remove_finished(&mut self) {
        while let Some(done) = self.work.try_join_next() {
            if let Ok(done) = done {
                self.by_id.remove(&done);
            }
        }
    }

    /// Cancels the work of a request.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        if let Some(work) = self.by_id.remove(id) {
            work.abort();
        }
    }

    /// Waits briefly until everything is done, and cancels the rest.
    pub(super) async fn end(&mut self) {
        let all = async {
            while self.work.join_next().await.is_some() {}
            while self.said.join_next().await.is_some() {}
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, all).await;
        self.work.shutdown().await;
        self.said.shutdown().await;
        self.by_id.clear();
    }
}
