//! Operations on changes that tools made in the workspace.

use serde_json::json;
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_ops::changes::{
    self, Direction, FileAct, ListChangesRequest, PreviewRequest, RedoRequest, UndoRequest,
};
use toolcrib_ops::{OpContext, OpError};

use crate::fixture::Fixture;

#[tokio::test]
async fn changes_are_listed_previewed_undone_and_redone() {
    let fixture = Fixture::new().await;
    let before = SystemClock.now_ms();
    let call = fixture.call("write_file", json!({"path": "a.md", "content": "a\n"})).await;
    let ctx = fixture.ctx();
    let listed = changes::list(&ctx, ListChangesRequest::all(Direction::Undo)).await.unwrap();
    assert_eq!((listed.len(), listed[0].summary.as_str()), (1, "write a.md"));
    assert!(listed[0].at >= before);
    assert_eq!(listed[0].call, Some(call.to_string()));
    let other = OpContext { store: fixture.other_owner(), ..fixture.ctx() };
    let foreign = changes::list(&other, ListChangesRequest::all(Direction::Undo)).await.unwrap();
    assert_eq!(foreign[0].call, None, "ids of another owner's calls are not shown");

    let ids = vec![listed[0].id];
    let request = PreviewRequest { direction: Direction::Undo, changes: ids.clone() };
    let files = changes::preview(&ctx, request.clone()).await.unwrap().files;
    assert_eq!((files[0].act, files[0].path.as_str()), (FileAct::Remove, "a.md"));
    assert!(files[0].diff.as_ref().unwrap().contains("-a"));
    let viewer = OpContext { store: fixture.viewer(), ..fixture.ctx() };
    assert_eq!(changes::preview(&viewer, request).await.unwrap().files[0].diff, None);

    let undo = UndoRequest { changes: Some(ids.clone()), ..UndoRequest::default() };
    let done = changes::undo(&ctx, undo.clone()).await.unwrap();
    assert_eq!(
        (done.undone[0].did.as_slice(), &done.refused),
        (["removed a.md".to_owned()].as_slice(), &None)
    );
    let error = changes::undo(&ctx, undo).await.unwrap_err();
    assert!(matches!(error, OpError::Stale(_)), "{error:?}");
    let redo = RedoRequest { changes: ids, force: false };
    assert_eq!(changes::redo(&ctx, redo).await.unwrap().redone[0].did, ["restored a.md"]);
    let audit = fixture.toolcrib.stores().audit.records_of(call).await.unwrap();
    let acts: Vec<_> = audit.iter().filter(|row| row.text.contains("changes.")).collect();
    assert_eq!(acts.len(), 2, "{audit:?}");
    assert!(acts[0].text.contains("\"by\":\"ann\""), "{}", acts[0].text);
}
