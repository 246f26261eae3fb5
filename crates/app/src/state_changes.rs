//! Change notifications of the shared state, so that loops which read it sleep while nothing
//! changes.

use std::time::Duration;

use tokio::sync::watch;

/// Longest time that a loop sleeps without a notification. It bounds the delay if the operating
/// system loses one.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// Tells one loop that the shared state may have changed, for example because another process
/// committed to the database. Each clone notes for itself what it has seen.
#[derive(Debug, Clone, Default)]
pub struct StateChanges {
    notified: Option<watch::Receiver<()>>,
}

impl StateChanges {
    /// Creates changes that these notifications announce. Without any, as in
    /// [`default`](Self::default), a loop polls at its interval.
    #[must_use]
    pub fn from_notifications(notified: watch::Receiver<()>) -> Self {
        Self { notified: Some(notified) }
    }

    /// Waits for `interval`, the shortest time between two reads of a loop, and then for a change
    /// since the previous wait, at most 30 s.
    pub async fn next(&mut self, interval: Duration) {
        self.next_within(interval, MAX_SLEEP).await;
    }

    /// Waits as [`next`](Self::next) does, at most `longest`.
    pub async fn next_within(&mut self, interval: Duration, longest: Duration) {
        tokio::time::sleep(interval.min(longest)).await;
        let _ = tokio::time::timeout(longest.saturating_sub(interval), self.changed()).await;
    }

    /// Waits for a change since the previous wait. Returns at once where nothing announces changes,
    /// so that its caller polls.
    pub async fn changed(&mut self) {
        if let Some(notified) = &mut self.notified
            && notified.changed().await.is_err()
        {
            self.notified = None;
        }
    }

    /// Returns whether the state may have changed since the previous wait, and notes it as seen.
    pub fn take(&mut self) -> bool {
        self.notified.as_mut().is_none_or(|notified| {
            let changed = notified.has_changed().unwrap_or(true);
            notified.mark_unchanged();
            changed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    async fn waited(changes: &mut StateChanges) -> Duration {
        let start = tokio::time::Instant::now();
        changes.next(INTERVAL).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_sleeps_until_a_change_and_polls_where_none_is_announced() {
        let (notifier, notified) = watch::channel(());
        let mut changes = StateChanges::from_notifications(notified);
        assert_eq!(waited(&mut changes).await, MAX_SLEEP);
        // A change during the read of the loop is not lost.
        notifier.send_replace(());
        assert_eq!(waited(&mut changes).await, INTERVAL);
        assert!(!changes.take());
        notifier.send_replace(());
        assert!(changes.take());
        tokio::spawn(async move {
            tokio::time::sleep(INTERVAL * 5).await;
            notifier.send_replace(());
            // Dropped: the watcher has ended.
        });
        assert_eq!(waited(&mut changes).await, INTERVAL * 5);
        assert_eq!(waited(&mut changes).await, INTERVAL);
        assert_eq!(waited(&mut StateChanges::default()).await, INTERVAL);
        assert!(StateChanges::default().take());
    }
}
