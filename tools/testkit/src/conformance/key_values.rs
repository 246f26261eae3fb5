//! Facts by name.

use toolcrib_core::KeyValueStore;

/// A fact is what was said last.
///
/// # Panics
/// When the store does something else.
pub async fn facts(store: &dyn KeyValueStore) {
    assert_eq!(store.value("no tools at host").await.unwrap(), None);
    for value in ["yes", "", "no\n\u{0}\u{1f512}", "yes"] {
        store.put_value("no tools at host", value).await.unwrap();
        assert_eq!(store.value("no tools at host").await.unwrap().as_deref(), Some(value));
    }
    store.put_value("", "of no name").await.unwrap();
    assert_eq!(store.value("").await.unwrap().as_deref(), Some("of no name"));
    assert_eq!(store.value("no tools").await.unwrap(), None);
}
