//! The request that a task works for: its span context and its principal.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use futures_util::future::Either;

use super::span::SpanContext;
use crate::role::Principal;

/// Maximum number of span contexts of active runs or calls; beyond that, the oldest are removed.
const MAX_CONTEXTS: usize = 10_000;

/// The request that a task works for.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestContext {
    /// Its span context; `None` if there is no sink of spans.
    pub(super) span: Option<SpanContext>,
    /// The name of its principal, once it is authenticated.
    pub(super) principal: Arc<OnceLock<String>>,
}

tokio::task_local! {
    pub(super) static REQUEST_CONTEXT: RequestContext;
}

/// Returns the span context of the current request.
pub(super) fn span_context() -> Option<SpanContext> {
    REQUEST_CONTEXT.try_with(|request| request.span).ok().flatten()
}

/// Sets the principal of the current request.
pub(crate) fn set_principal(principal: &Principal) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.principal.set(principal.name.clone()));
}

/// Carries the current request over to work that runs in another task.
pub(crate) fn with_request_context<F: Future>(work: F) -> impl Future<Output = F::Output> {
    match REQUEST_CONTEXT.try_with(RequestContext::clone) {
        Ok(request) => Either::Left(REQUEST_CONTEXT.scope(request, work)),
        Err(_) => Either::Right(work),
    }
}

/// Span contexts by run or call.
#[derive(Debug)]
pub(super) struct SpanContexts<K> {
    contexts: HashMap<K, SpanContext>,
    order: VecDeque<K>,
}

impl<K> Default for SpanContexts<K> {
    fn default() -> Self {
        Self { contexts: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash> SpanContexts<K> {
    pub(super) fn put(&mut self, key: K, context: SpanContext) {
        if self.contexts.insert(key, context).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_CONTEXTS {
            if let Some(oldest) = self.order.pop_front() {
                self.contexts.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<SpanContext> {
        self.contexts.get(key).copied()
    }

    pub(super) fn take(&mut self, key: &K) -> Option<SpanContext> {
        let taken = self.contexts.remove(key);
        // The oldest contexts nearly always end first.
        while self.order.front().is_some_and(|oldest| !self.contexts.contains_key(oldest)) {
            self.order.pop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_request_is_carried_into_other_tasks() {
        let context = SpanContext::root(1.0);
        let request = RequestContext { span: Some(context), ..RequestContext::default() };
        let found = REQUEST_CONTEXT.scope(request, async {
            tokio::spawn(with_request_context(async { self::span_context() })).await
        });
        assert_eq!(found.await.unwrap(), Some(context));
        assert_eq!(
            tokio::spawn(with_request_context(async { self::span_context() })).await.unwrap(),
            None
        );
    }

    #[test]
    fn the_number_of_contexts_is_bounded() {
        let (mut contexts, context) = (SpanContexts::default(), SpanContext::root(1.0));
        for key in 0..MAX_CONTEXTS + 5 {
            contexts.put(key, context);
        }
        assert_eq!(contexts.get(&4), None);
        assert_eq!(contexts.take(&5), Some(context));
        assert_eq!(contexts.take(&5), None);
        for key in (6..MAX_CONTEXTS + 5).rev() {
            assert!(contexts.take(&key).is_some());
        }
        assert!(contexts.order.is_empty() && contexts.contexts.is_empty());
    }
}
