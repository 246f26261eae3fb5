//! Facts by name.

use toolcrib_core::FactStore;

/// A fact is what was said last.
///
/// # Panics
/// When the store does something else.
pub async fn facts(store: &dyn FactStore) {
    assert_eq!(store.fact("no tools at host").await.unwrap(), None);
    for value in ["yes", "", "no\n\u{0}\u{1f512}", "yes"] {
        store.put_fact("no tools at host", value).await.unwrap();
        assert_eq!(store.fact("no tools at host").await.unwrap().as_deref(), Some(value));
    }
    store.put_fact("", "of no name").await.unwrap();
    assert_eq!(store.fact("").await.unwrap().as_deref(), Some("of no name"));
    assert_eq!(store.fact("no tools").await.unwrap(), None);
}
