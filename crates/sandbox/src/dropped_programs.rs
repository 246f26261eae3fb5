//! Programs that were dropped or killed while they ran, and waiting for their end.

#[cfg(target_os = "linux")]
use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

#[cfg(target_os = "linux")]
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Number of programs of this process that were dropped or killed and have not ended.
static DROPPED: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Counts such a program until this future completes.
#[cfg(target_os = "linux")]
pub(crate) fn count_until(ended: impl Future<Output = ()> + Send + 'static) {
    let Ok(runtime) = Handle::try_current() else { return };
    let counted = Counted::new();
    runtime.spawn(async move {
        ended.await;
        drop(counted);
    });
}

/// Waits until every program that was dropped or killed while it ran has ended with all its
/// descendants. Returns whether that happened within this time.
pub async fn wait_for_dropped(time: Duration) -> bool {
    let mut dropped = DROPPED.subscribe();
    tokio::time::timeout(time, dropped.wait_for(|count| *count == 0)).await.is_ok()
}

/// Counts one program while this value exists, even if the runtime ends first.
#[cfg(target_os = "linux")]
struct Counted;

#[cfg(target_os = "linux")]
impl Counted {
    fn new() -> Self {
        DROPPED.send_modify(|count| *count += 1);
        Self
    }
}

#[cfg(target_os = "linux")]
impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.send_modify(|count| *count = count.saturating_sub(1));
    }
}
