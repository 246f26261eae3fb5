//! Operations on artifacts.

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{ArtifactRef, CallId, Trust};
use toolcrib_ops::OpError;
use toolcrib_ops::artifacts::{
    self, ListArtifactsRequest, RemoveArtifactRequest, ShowArtifactRequest,
};

use crate::fixture::Fixture;

fn store_text(fixture: &Fixture) -> ArtifactRef {
    let new = NewArtifact {
        owner: String::new(),
        conversation: String::new(),
        run: None,
        call: CallId::fresh(),
        media_type: "text/plain".to_owned(),
        trust: Trust::Workspace,
        source: Some("notes/a.txt".to_owned()),
    };
    let mut writer = fixture.toolcrib.stores().artifacts.create(new).unwrap();
    writer.write(b"text").unwrap();
    writer.finish().unwrap().artifact
}

#[tokio::test]
async fn a_stored_result_is_listed_shown_and_removed_by_its_owner() {
    let fixture = Fixture::new().await;
    let artifact = store_text(&fixture);
    let list = ListArtifactsRequest { limit: 10 };
    let listed = artifacts::list(&fixture.store(), list).await.unwrap();
    assert_eq!(listed[0].source.as_deref(), Some("notes/a.txt"));
    let request = ShowArtifactRequest { artifact: artifact.clone() };
    assert_eq!(artifacts::show(&fixture.store(), request.clone()).await.unwrap(), listed[0]);
    let shown = artifacts::show(&fixture.viewer(), request.clone()).await.unwrap();
    assert_eq!(shown.source, None);
    let foreign = artifacts::show(&fixture.other_owner(), request).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    let request = RemoveArtifactRequest { artifact };
    let foreign = artifacts::remove(&fixture.other_owner(), request.clone()).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    assert!(artifacts::remove(&fixture.store(), request.clone()).await.unwrap().changed);
    let again = artifacts::remove(&fixture.store(), request).await.unwrap_err();
    assert!(matches!(again, OpError::NotFound { .. }), "{again:?}");
}

#[tokio::test]
async fn a_text_that_is_no_name_is_not_looked_up() {
    let fixture = Fixture::new().await;
    let request = ShowArtifactRequest { artifact: ArtifactRef("../../etc/passwd".to_owned()) };
    let error = artifacts::show(&fixture.store(), request).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
}
