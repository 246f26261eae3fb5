//! The audit as a bundle.

use std::io::Cursor;
use std::sync::Arc;

use toolcrib_audit::{BundleEvidence, BundleReport, verify_bundle};
use toolcrib_core::{AuditEvent, AuditKind};
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::audit::{BundleRequest, bundle};

use crate::fixture::Fixture;

async fn report(fixture: &Fixture, more_keys: &str) -> Result<BundleReport, OpError> {
    let request = BundleRequest { more_keys: more_keys.to_owned() };
    let ctx = fixture.ctx();
    let mut export = bundle(&ctx, &Recorder::None, request).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = export.next().await.unwrap() {
        bytes.extend(piece);
    }
    Ok(verify_bundle(Cursor::new(bytes), BundleEvidence::default()).unwrap())
}

#[tokio::test]
async fn a_bundle_has_the_keys_of_other_daemons_and_every_tool() {
    let fixture = Fixture::new().await;
    let event = AuditEvent::new(AuditKind::Settled, 1, Arc::default());
    fixture.toolcrib.stores().audit.append(event).await.unwrap();
    let other = "ab".repeat(32);
    let found = report(&fixture, &format!("# theirs\n{other}\n")).await.unwrap();
    assert!(found.is_sound(), "{found:?}");
    assert_eq!(found.keys.len(), 2);
    assert!(found.keys.contains(&other), "{found:?}");
    assert_eq!(found.chains[0].records, 1);
    let tools = fixture.toolcrib.infos().len() as u64;
    assert!(found.files > tools, "{found:?}");
    let refused = report(&fixture, "no key").await.unwrap_err();
    assert!(matches!(&refused, OpError::Invalid(why) if why.contains("line 1")), "{refused}");
}
