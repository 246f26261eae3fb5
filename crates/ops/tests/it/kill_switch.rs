//! Operations on the kill switch.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::SwitchStore;
use toolcrib_ops::OpError;
use toolcrib_ops::kill_switch::{
    self, EngageReply, EngageRequest, KillSwitchContext, ReleaseRequest, StopBody, ToolProcess,
};

use crate::fixture::Fixture;

fn context<'a>(
    fixture: &'a Fixture,
    open_store: &'a (dyn Fn() -> Result<Arc<dyn SwitchStore>, OpError> + Sync),
) -> KillSwitchContext<'a> {
    KillSwitchContext {
        file: fixture.toolcrib.kill_switch(),
        open_store,
        actor: "ann",
        process: Some(ToolProcess { toolcrib: &fixture.toolcrib, store_is_shared: false }),
    }
}

#[tokio::test]
async fn it_is_engaged_shown_and_released() {
    let fixture = Fixture::new().await;
    let open_store = || Ok(Arc::clone(&fixture.toolcrib.stores().switches));
    let ctx = context(&fixture, &open_store);
    assert!(!kill_switch::show(&ctx).await.unwrap().engaged);
    let request = EngageRequest { reason: "a test".to_owned(), finish_running: false };
    let reply = kill_switch::engage(&ctx, request).await.unwrap();
    assert!(reply.calls.is_empty() && reply.file_error.is_none());
    let status = kill_switch::show(&ctx).await.unwrap();
    assert_eq!(status, reply.switch);
    assert!(status.engaged && status.file && status.row);
    assert_eq!((status.by.as_deref(), status.reason.as_deref()), (Some("ann"), Some("a test")));
    fixture.call("greet", json!({})).await;
    assert_eq!(fixture.tool.runs(), 0);
    let released = kill_switch::release(&ctx, ReleaseRequest::default()).await.unwrap();
    assert!(released.changed && !released.switch.engaged);
    fixture.call("greet", json!({})).await;
    assert_eq!(fixture.tool.runs(), 1);
    assert!(!kill_switch::release(&ctx, ReleaseRequest::default()).await.unwrap().changed);
}

#[tokio::test]
async fn without_a_store_the_file_stops_this_machine_and_the_error_says_so() {
    let fixture = Fixture::new().await;
    let open_store = || Err(OpError::Unavailable("it is damaged".to_owned()));
    let ctx = context(&fixture, &open_store);
    let error = kill_switch::engage(&ctx, EngageRequest::default()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("all tools are off on this machine"), "{text}");
    assert!(text.ends_with("it is damaged") && ctx.file.is_engaged(), "{text}");
    fixture.call("greet", json!({})).await;
    assert_eq!(fixture.tool.runs(), 0);
}

#[tokio::test]
async fn without_the_file_the_row_stops_and_the_reply_says_so() {
    let fixture = Fixture::new().await;
    let open_store = || Ok(Arc::clone(&fixture.toolcrib.stores().switches));
    let file = toolcrib_app::KillSwitchFile::in_folder(std::path::Path::new("/proc/no/such"));
    let ctx = KillSwitchContext { file: &file, process: None, ..context(&fixture, &open_store) };
    let reply = kill_switch::engage(&ctx, EngageRequest::default()).await.unwrap();
    assert!(reply.file_error.is_some());
    assert!(reply.switch.row && !reply.switch.file, "{:?}", reply.switch);
}

#[test]
fn the_reply_of_a_daemon_is_what_the_command_reads() {
    let switch =
        json!({"engaged": true, "file": true, "row": true, "by": "ann", "at": 7, "reason": null});
    let mut document = switch.clone();
    document["calls"] = json!([{"call": "call_1", "tool": "greet", "run": null, "effect": "pure", "started_at": 7, "status": "cancelled"}]);
    let reply: EngageReply = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(&reply).unwrap(), document);
    let body = StopBody::from(EngageRequest { reason: String::new(), finish_running: true });
    assert_eq!(serde_json::to_value(body).unwrap(), json!({"reason": "", "stop_running": false}));
}
