//! Requests that are at work beside the library.

use std::collections::HashMap;
use std::time::Duration;

use rmcp::model::RequestId;
use tokio::task::{AbortHandle, JoinSet};

/// How long what is at work is waited for when the other side has said its last (as the library does).
const LAST_WORDS: Duration = Duration::from_secs(5);

/// They are given up when this is dropped.
#[derive(Default)]
pub(super) struct Open {
    /// Each says whose work it was; what is only said belongs to nobody.
    work: JoinSet<Option<RequestId>>,
    by_id: HashMap<RequestId, AbortHandle>,
}

impl Open {
    /// Goes on with the work of a request.
    pub(super) fn go_on(&mut self, id: RequestId, work: impl Future<Output = ()> + Send + 'static) {
        self.forget();
        let own = id.clone();
        let handle = self.work.spawn(async move {
            work.await;
            Some(own)
        });
        self.by_id.insert(id, handle);
    }

    /// Does something that belongs to no request.
    pub(super) fn beside(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.forget();
        self.work.spawn(async move {
            work.await;
            None
        });
    }

    /// Forgets what is done.
    fn forget(&mut self) {
        while let Some(done) = self.work.try_join_next() {
            if let Ok(Some(done)) = done {
                self.by_id.remove(&done);
            }
        }
    }

    /// Gives up the work of a request that was taken back.
    pub(super) fn stop(&mut self, id: &RequestId) {
        if let Some(work) = self.by_id.remove(id) {
            work.abort();
        }
    }

    /// Waits a while until everything is done, and gives up the rest.
    pub(super) async fn end(&mut self) {
        let all = async { while self.work.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
        self.work.shutdown().await;
        self.by_id.clear();
    }
}
