//! `read_artifact` on an in-memory store.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::artifact::{ArtifactWriter, NewArtifact};
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, CallId, ErrorType, Handler, StoreError, Trust,
};

use crate::Builtins;
use crate::test_support::{CallResult, call};

const NAME: &str = "art_0123456789abcdef0123456789abcdef";

/// One artifact of `ann`.
struct One(Vec<u8>, u64);

impl ArtifactStore for One {
    fn create(&self, _: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        Err(StoreError::Failed("read only".to_owned()))
    }

    fn meta(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        let meta = ArtifactMeta {
            artifact: artifact.clone(),
            owner: owner.to_owned(),
            media_type: "text/plain".to_owned(),
            trust: Trust::External,
            source: Some("https://example.com/".to_owned()),
            bytes: self.0.len() as u64,
            total_bytes: self.1,
            sha256: String::new(),
            call: CallId::fresh(),
            run: None,
            conversation: String::new(),
            created_at: 0,
            expires_at: None,
        };
        Ok((owner == "ann" && artifact.0 == NAME).then_some(meta))
    }

    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let whole = self.meta(artifact, owner)?;
        let from = usize::try_from(offset).expect("offset").min(self.0.len());
        let bytes = self.0[from..self.0.len().min(from + length)].to_vec();
        Ok(whole.map(|_| bytes))
    }

    fn list(&self, owner: &str, _: usize) -> Result<Vec<ArtifactMeta>, StoreError> {
        Ok(self.meta(&ArtifactRef(NAME.to_owned()), owner)?.into_iter().collect())
    }

    fn remove(&self, _: &ArtifactRef, _: &str) -> Result<bool, StoreError> {
        Err(StoreError::Failed("read only".to_owned()))
    }
}

fn tool(content: impl Into<Vec<u8>>) -> Arc<dyn Handler> {
    let content = content.into();
    let total = content.len() as u64;
    let tools = Builtins::new().with_artifacts(Arc::new(One(content, total))).handlers();
    Arc::clone(tools.last().expect("read_artifact"))
}

async fn read(tool: &Arc<dyn Handler>, mut args: Value) -> CallResult {
    args["ref"] = json!(NAME);
    call(tool, args).await
}

#[tokio::test]
async fn pages_cover_everything_and_cut_no_character() {
    let text = "añ漢🎉\n".repeat(50);
    let tool = tool(text.clone());
    for limit in [4, 5, 6, 7, 64, 1000] {
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let said = read(&tool, json!({"offset": offset, "limit": limit})).await.expect("page");
            assert_eq!(said.0.trust, Some(Trust::External));
            assert_eq!(said.0.source.as_deref(), Some("https://example.com/"));
            let parts = said.parts();
            whole.push_str(&parts[0]);
            let Some((_, next)) = parts[1].split_once("continue with offset ") else { break };
            offset = next.trim_end_matches(".)").parse::<u64>().expect("offset");
        }
        assert_eq!(whole, text, "{limit}");
    }
    let said = read(&tool, json!({"offset": 2, "limit": 4})).await.expect("inside a character");
    assert_eq!(said.parts(), ["漢", "(Bytes 3 to 6 of 550; continue with offset 6.)"]);
}

#[tokio::test]
async fn patterns_find_lines_with_their_offsets() {
    let mut text: String = (0..50_000).map(|i| format!("row {i} über\n")).collect();
    text.push_str("last error, no newline");
    let tool = tool(text.clone());
    let said = read(&tool, json!({"pattern": "(?i)ERROR"})).await.expect("found");
    let at = text.find("last").expect("last");
    assert_eq!(said.parts()[0], format!("{at}: last error, no newline\n"));
    assert!(said.parts()[1].starts_with("(1 matching lines"));
    let said = read(&tool, json!({"pattern": "^row 4999[89] "})).await.expect("found");
    for line in said.parts()[0].lines() {
        let (offset, line) = line.split_once(": ").expect("offset");
        assert!(text[offset.parse::<usize>().expect("offset")..].starts_with(line));
    }
    let said = read(&tool, json!({"pattern": "row", "limit": 60})).await.expect("found");
    assert!(
        said.parts()[1].contains("there are more: continue with offset 36."),
        "{:?}",
        said.parts()
    );
    let said = read(&tool, json!({"pattern": "nowhere"})).await.expect("searched");
    assert!(said.parts()[1].starts_with("(0 matching lines"));
    let long = "x".repeat(500_000) + "needle" + &"y".repeat(500_000);
    let said = read(&crate::tests::read_artifact::tool(long), json!({"pattern": "needle"})).await;
    assert_eq!(said.expect("long line").parts()[0].lines().count(), 1);
}

#[tokio::test]
async fn bad_references_offsets_and_patterns_are_refused() {
    let tool = tool("abc");
    for name in ["art_0123456789abcdef0123456789abcdee", "../etc/passwd", "", "art_"] {
        let error = call(&tool, json!({"ref": name})).await.expect_err(name);
        assert_eq!(error.error_type, ErrorType::FileNotFound);
    }
    for args in
        [json!({"offset": 4}), json!({"pattern": "("}), json!({"pattern": "(a){9999}{9999}"})]
    {
        let error = read(&tool, args.clone()).await.expect_err("refused");
        assert_eq!(error.error_type, ErrorType::ValidationError, "{args}");
    }
    let kept = Builtins::new().with_artifacts(Arc::new(One(b"abc".to_vec(), 9))).handlers();
    let said = read(kept.last().expect("tool"), json!({})).await.expect("page");
    assert_eq!(said.parts(), ["abc", "(Bytes 0 to 3 of 3, the end of what was kept of 9 bytes.)"]);
    let said = read(&crate::tests::read_artifact::tool(b"\xff\xfe".to_vec()), json!({})).await;
    assert_eq!(said.expect("lossy").parts()[0], "\u{fffd}\u{fffd}");
}
