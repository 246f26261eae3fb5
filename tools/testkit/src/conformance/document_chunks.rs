//! The text of documents.

use toolcrib_core::DocumentChunk;
use toolcrib_core::store::DocumentChunkStore;

/// Chunks are stored once, found by words of their owner, and removed with their document.
///
/// # Panics
/// When the store does something else.
pub async fn document_chunks(store: &dyn DocumentChunkStore) {
    let texts =
        ["The invoice is due in May.", "Größe: \"42\" nul \u{0}", "Rye bread, baked at night"];
    let chunk = |number: u32, text: &str| DocumentChunk {
        number,
        page: number + 1,
        start: 7,
        text: text.into(),
        vector: vec![u8::try_from(number).unwrap(), 255, 0],
    };
    let all: Vec<DocumentChunk> = (0..).zip(texts).map(|(n, text)| chunk(n, text)).collect();
    store.put_chunks("a", "one", all.clone()).await.unwrap();
    // Again, as after an interruption: nothing is there twice.
    store.put_chunks("a", "one", all.clone()).await.unwrap();
    store.put_chunks("a", "two", vec![chunk(0, "Another invoice")]).await.unwrap();
    store.put_chunks("b", "one", vec![chunk(0, "An invoice of somebody else")]).await.unwrap();
    let last = store.last_chunk("a").await.unwrap();
    let pages = store.chunks_from_page("a", "one", 2, 10).await.unwrap();
    let texts: Vec<&str> = pages.iter().map(|row| &*row.chunk.text).collect();
    assert_eq!(texts, ["Größe: \"42\" nul \u{0}", "Rye bread, baked at night"]);
    assert_eq!((pages[0].chunk.page, pages[0].chunk.start), (2, 7));
    let find = async |owner: &'static str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let found = store.find_chunks(owner, &words, 10).await.unwrap();
        assert!(found.windows(2).all(|pair| pair[0].rank >= pair[1].rank));
        found.into_iter().map(|row| (row.document, row.chunk.number)).collect::<Vec<_>>()
    };
    assert_eq!(find("a", &["due", "may"]).await, [("one".to_owned(), 0)]);
    assert_eq!(find("a", &["invo", "zzz"]).await.len(), 2, "words that begin so");
    assert_eq!(find("b", &["invoice"]).await, [("one".to_owned(), 0)]);
    assert_eq!(find("a", &["größe"]).await, [("one".to_owned(), 1)]);
    for odd in ["\"", "a\" OR \"b", "NEAR(", "*", "'", ":", "&|!"] {
        find("a", &[odd]).await;
    }
    assert_eq!(find("a", &[]).await, []);
    let vectors = store.chunk_vectors("a", 0, 10).await.unwrap();
    assert_eq!((vectors.len(), &*vectors[2].vector), (4, &[2, 255, 0][..]));
    assert_eq!(vectors.last().unwrap().id, last);
    assert_eq!(store.chunk_vectors("a", vectors[1].id, 1).await.unwrap(), [vectors[2].clone()]);
    let ids = [vectors[0].id, last, -1];
    assert_eq!(store.chunks_by_id("a", &ids).await.unwrap().len(), 2);
    assert_eq!(store.chunks_by_id("b", &ids).await.unwrap(), []);
    store.delete_chunks("a", "one").await.unwrap();
    assert_eq!(find("a", &["due", "bread"]).await, []);
    assert_eq!(store.chunk_vectors("a", 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.last_chunk("a").await.unwrap(), vectors[3].id);
    assert_eq!(store.chunk_vectors("b", 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.last_chunk("c").await.unwrap(), 0);
}
