//! Operations on saved scripts.

use toolcrib_app::ToolFolder;
use toolcrib_core::Risk;
use toolcrib_ops::ExpectedVersion;
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::chains::{self, PutChainRequest, RemoveChainRequest};

use crate::fixture::Fixture;

const CODE: &str = "# description: Count\nprint(1)\n";

fn put(expected: ExpectedVersion<'_>) -> PutChainRequest<'_> {
    PutChainRequest { name: "count".to_owned(), code: CODE.to_owned(), folder: None, expected }
}

fn remove(expected: ExpectedVersion<'_>) -> RemoveChainRequest<'_> {
    RemoveChainRequest { name: "count".to_owned(), folder: None, expected }
}

/// Creates a fixture with an untrusted folder of tools.
async fn with_folder(folder: &tempfile::TempDir) -> Fixture {
    let path = folder.path().to_owned();
    let folder = ToolFolder { id: "workspace".to_owned(), path, is_untrusted: true };
    Fixture::build_with(Risk::Safe, |settings| settings.tool_folders = vec![folder], |b| b).await
}

#[tokio::test]
async fn a_script_is_kept_shown_and_removed_by_those_who_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = with_folder(&folder).await;
    let (ctx, none) = (fixture.ctx(), Recorder::None);
    let kept = chains::put(&ctx, &none, put(ExpectedVersion::Unnamed)).await.unwrap();
    assert!(kept.is_new && kept.chain.chain.asked_about, "{kept:?}");
    assert_eq!(chains::show(&ctx, "count").await.unwrap(), kept.chain);
    assert_eq!(chains::list(&ctx).await.unwrap(), [kept.chain.chain]);
    let again = chains::put(&ctx, &none, put(ExpectedVersion::Unnamed)).await.unwrap_err();
    assert!(matches!(again, OpError::NeedsVersion(_)), "{again:?}");
    let other = |text: &str| text != CODE;
    let stale = chains::remove(&ctx, &none, remove(ExpectedVersion::Matching(&other))).await;
    assert!(matches!(stale, Err(OpError::Stale(_))), "{stale:?}");
    let same = |text: &str| text == CODE;
    chains::remove(&ctx, &none, remove(ExpectedVersion::Matching(&same))).await.unwrap();
    let gone = chains::show(&ctx, "count").await.unwrap_err();
    assert!(matches!(gone, OpError::NotFound { .. }), "{gone:?}");
}

#[tokio::test]
async fn a_bad_name_is_invalid_and_without_a_folder_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = with_folder(&folder).await;
    let none = Recorder::None;
    let bad = PutChainRequest { name: "../x".to_owned(), ..put(ExpectedVersion::Any) };
    let error = chains::put(&fixture.ctx(), &none, bad).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
    let without = Fixture::new().await;
    let error = chains::put(&without.ctx(), &none, put(ExpectedVersion::Any)).await.unwrap_err();
    assert!(matches!(error, OpError::Conflict(_)), "{error:?}");
}
