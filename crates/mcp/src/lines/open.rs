//! Requests that are at work beside the library.

use std::collections::HashMap;
use std::time::Duration;

use rmcp::model::RequestId;
use tokio::task::{AbortHandle, JoinSet};

/// How long what is at work is waited for when the other side has said its last (as the library does).
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Answers that may wait for the other side to read: one that writes and never reads is not read from any more.
const UNREAD: usize = 1_024;

/// They are given up when this is dropped.
#[derive(Default)]
pub(super) struct Open {
    /// Each says whose work it was.
    work: JoinSet<RequestId>,
    /// What is only said belongs to nobody.
    said: JoinSet<()>,
    by_id: HashMap<RequestId, AbortHandle>,
}

impl Open {
    /// Goes on with the work of a request.
    pub(super) fn go_on(&mut self, id: RequestId, work: impl Future<Output = ()> + Send + 'static) {
        self.forget();
        let own = id.clone();
        let handle = self.work.spawn(async move {
            work.await;
            own
        });
        self.by_id.insert(id, handle);
    }

    /// Does something that belongs to no request.
    pub(super) fn beside(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.said.spawn(work);
    }

    /// Waits until another answer may wait. Dropped in between, nothing is lost.
    pub(super) async fn has_room(&mut self) {
        while self.said.try_join_next().is_some() {}
        while self.said.len() >= UNREAD {
            self.said.join_next().await;
        }
    }

    /// Forgets what is done.
    fn forget(&mut self) {
        while let Some(done) = self.work.try_join_next() {
            if let Ok(done) = done {
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
        let all = async {
            while self.work.join_next().await.is_some() {}
            while self.said.join_next().await.is_some() {}
        };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
        self.work.shutdown().await;
        self.said.shutdown().await;
        self.by_id.clear();
    }
}
