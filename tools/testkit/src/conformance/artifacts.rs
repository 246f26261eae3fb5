//! Stored results.

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{ArtifactMeta, ArtifactRef, ArtifactStore, CallId, RunId, StoreError, Trust};

/// Artifacts come back byte by byte to their owner alone; equal content is stored
/// once.
///
/// # Panics
/// When the store does something else.
pub fn artifacts(store: &dyn ArtifactStore) {
    what_is_stored_comes_back(store);
    only_the_owner_reads(store);
    equal_content_is_stored_once(store);
    they_are_listed_and_removed(store);
}

/// An artifact of this owner, made outside a run from the tool's own words.
#[must_use]
pub fn new_artifact(owner: &str) -> NewArtifact {
    NewArtifact {
        owner: owner.into(),
        media_type: "text/plain".into(),
        trust: Trust::Tool,
        source: None,
        call: CallId::fresh(),
        run: None,
        conversation: String::new(),
    }
}

/// Stores these bytes.
///
/// # Errors
/// What the store says.
pub fn put(
    store: &dyn ArtifactStore,
    new: NewArtifact,
    bytes: &[u8],
) -> Result<ArtifactMeta, StoreError> {
    let mut writer = store.create(new)?;
    writer.write(bytes)?;
    writer.finish()
}

fn what_is_stored_comes_back(store: &dyn ArtifactStore) {
    let new = NewArtifact {
        media_type: "application/x-\u{e9}".into(),
        trust: Trust::External,
        source: Some("https://example.com/\u{0}".into()),
        run: Some(RunId::fresh()),
        conversation: "c1".into(),
        ..new_artifact("back")
    };
    let mut writer = store.create(new.clone()).unwrap();
    for piece in [b"hello ".as_slice(), b"", b"wor\0ld", b"\xff"] {
        writer.write(piece).unwrap();
    }
    let meta = writer.finish().unwrap();
    assert_eq!((meta.bytes, meta.total_bytes), (13, 13));
    assert_eq!(
        (&meta.media_type, meta.trust, &meta.source),
        (&new.media_type, new.trust, &new.source)
    );
    assert_eq!((meta.call, meta.run, &meta.conversation), (new.call, new.run, &new.conversation));
    assert_eq!(meta.artifact.0.strip_prefix("art_"), meta.sha256.get(..32));
    assert!(meta.expires_at.is_none_or(|end| end > meta.created_at));
    assert_eq!(store.meta(&meta.artifact, "back").unwrap(), Some(meta.clone()));
    for (offset, length, expected) in [
        (0, 13, b"hello wor\0ld\xff".as_slice()),
        (0, usize::MAX, b"hello wor\0ld\xff"),
        (6, 3, b"wor"),
        (12, 100, b"\xff"),
        (13, 1, b""),
        (u64::MAX, 1, b""),
        (3, 0, b""),
    ] {
        let read = store.read(&meta.artifact, "back", offset, length).unwrap();
        assert_eq!(read.as_deref(), Some(expected), "{offset} {length}");
    }
    let empty = put(store, new_artifact("back"), b"").unwrap();
    assert_eq!(store.read(&empty.artifact, "back", 0, 10).unwrap(), Some(Vec::new()));
    // One that is never finished leaves nothing.
    let mut dropped = store.create(new_artifact("back")).unwrap();
    dropped.write(b"dropped").unwrap();
    drop(dropped);
    assert_eq!(store.list("back", 10).unwrap().len(), 2);
}

fn only_the_owner_reads(store: &dyn ArtifactStore) {
    let meta = put(store, new_artifact("ann"), b"secret").unwrap();
    for owner in ["bob", "", "Ann", "ann "] {
        assert_eq!(store.meta(&meta.artifact, owner).unwrap(), None);
        assert_eq!(store.read(&meta.artifact, owner, 0, 6).unwrap(), None);
        assert!(!store.remove(&meta.artifact, owner).unwrap());
        assert!(store.list(owner, 10).unwrap().is_empty());
    }
    for name in ["../etc/passwd", "art_..", "art_XYZ", "", "art_0123456789abcdef0123456789abcde/"] {
        let name = ArtifactRef(name.into());
        assert_eq!(store.meta(&name, "ann").unwrap(), None);
        assert_eq!(store.read(&name, "ann", 0, 6).unwrap(), None);
        assert!(!store.remove(&name, "ann").unwrap());
    }
    assert_eq!(
        store.read(&meta.artifact, "ann", 0, 6).unwrap().as_deref(),
        Some(b"secret".as_slice())
    );
}

fn equal_content_is_stored_once(store: &dyn ArtifactStore) {
    let trusts = [Trust::Workspace, Trust::External, Trust::Tool];
    let made = trusts.map(|trust| {
        put(store, NewArtifact { trust, ..new_artifact("equal") }, b"the same").unwrap()
    });
    // Text from outside keeps its label when a trusted tool returns it too.
    let kept = made.each_ref().map(|meta| meta.trust);
    assert_eq!(kept, [Trust::Workspace, Trust::External, Trust::External]);
    assert!(made.iter().all(|meta| meta.artifact == made[0].artifact));
    assert_eq!(store.list("equal", 10).unwrap(), made[2..]);
    let other = put(store, new_artifact("equal too"), b"the same").unwrap();
    assert_ne!(other.artifact, made[0].artifact);
    assert_ne!(put(store, new_artifact("equal"), b"another").unwrap().artifact, made[0].artifact);
}

fn they_are_listed_and_removed(store: &dyn ArtifactStore) {
    let made: Vec<ArtifactMeta> = (0..3)
        .map(|n| put(store, new_artifact("list"), format!("number {n}").as_bytes()).unwrap())
        .collect();
    let mut listed = store.list("list", 10).unwrap();
    // Those of one millisecond have no order.
    assert!(listed.is_sorted_by(|a, b| a.created_at >= b.created_at));
    listed.sort_by_key(|meta| meta.artifact.clone());
    let mut expected = made.clone();
    expected.sort_by_key(|meta| meta.artifact.clone());
    assert_eq!(listed, expected);
    assert_eq!(store.list("list", 2).unwrap().len(), 2);
    assert!(store.remove(&made[1].artifact, "list").unwrap());
    assert!(!store.remove(&made[1].artifact, "list").unwrap());
    assert_eq!(store.meta(&made[1].artifact, "list").unwrap(), None);
    assert_eq!(store.read(&made[1].artifact, "list", 0, 5).unwrap(), None);
    assert_eq!(store.list("list", 10).unwrap().len(), 2);
    assert!(put(store, new_artifact("list"), b"number 1").unwrap().artifact == made[1].artifact);
}
