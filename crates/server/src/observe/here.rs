//! The request that a task works for: its id, who asks, and where it stands in a trace.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use futures_util::future::Either;

use super::span::SpanContext;
use crate::role::Principal;

/// Places in traces that are kept for what is at work; the oldest are forgotten.
const KEPT: usize = 10_000;

/// The request that a task works for.
#[derive(Debug, Clone, Default)]
pub(super) struct Here {
    /// Where it stands in a trace; `None` = nobody wants to know.
    pub(super) context: Option<SpanContext>,
    /// Who asks, once the door knows.
    pub(super) who: Arc<OnceLock<String>>,
}

tokio::task_local! {
    pub(super) static HERE: Here;
}

/// Where the request of this task stands in a trace.
pub(super) fn context() -> Option<SpanContext> {
    HERE.try_with(|here| here.context).ok().flatten()
}

/// The request of this task comes from this principal.
pub(crate) fn is(principal: &Principal) {
    let _ = HERE.try_with(|here| here.who.set(principal.name.clone()));
}

/// The same work for the same request, in another task.
pub(crate) fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
    match HERE.try_with(Here::clone) {
        Ok(here) => Either::Left(HERE.scope(here, work)),
        Err(_) => Either::Right(work),
    }
}

/// Places in traces, by what stands there.
#[derive(Debug)]
pub(super) struct Kept<K> {
    places: HashMap<K, SpanContext>,
    order: VecDeque<K>,
}

impl<K> Default for Kept<K> {
    fn default() -> Self {
        Self { places: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash> Kept<K> {
    pub(super) fn put(&mut self, key: K, context: SpanContext) {
        if self.places.insert(key, context).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.places.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<SpanContext> {
        self.places.get(key).copied()
    }

    pub(super) fn take(&mut self, key: &K) -> Option<SpanContext> {
        let taken = self.places.remove(key);
        // Those that ended first stand at the front, nearly always.
        while self.order.front().is_some_and(|oldest| !self.places.contains_key(oldest)) {
            self.order.pop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_carried_into_other_tasks() {
        let context = SpanContext::root(1.0);
        let here = Here { context: Some(context), ..Here::default() };
        let seen = HERE.scope(here, async { tokio::spawn(carry(async { self::context() })).await });
        assert_eq!(seen.await.unwrap(), Some(context));
        assert_eq!(tokio::spawn(carry(async { self::context() })).await.unwrap(), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (mut kept, context) = (Kept::default(), SpanContext::root(1.0));
        for key in 0..KEPT + 5 {
            kept.put(key, context);
        }
        assert_eq!(kept.get(&4), None);
        assert_eq!(kept.take(&5), Some(context));
        assert_eq!(kept.take(&5), None);
        for key in (6..KEPT + 5).rev() {
            assert!(kept.take(&key).is_some());
        }
        assert!(kept.order.is_empty() && kept.places.is_empty());
    }
}
