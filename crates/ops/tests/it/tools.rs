//! Operations on tools.

use serde_json::json;
use toolcrib_core::{Call, ErrorType, Exclusion, Origin, RawArgs, ViewRequest};
use toolcrib_ops::tools::{self, DryRunRequest, Prediction, WhyRequest};
use toolcrib_ops::{OpError, Resource};

use crate::fixture::Fixture;

fn request(tool: &str) -> WhyRequest {
    WhyRequest { tool: tool.to_owned(), ..WhyRequest::default() }
}

#[tokio::test]
async fn why_reports_what_excludes_a_tool() {
    let fixture = Fixture::new().await;
    let reply = tools::why(&fixture.ctx(), request("greet")).await.unwrap();
    assert!(reply.offered && reply.excluded.is_none(), "{reply:?}");
    let caller =
        ViewRequest { agent: Some(vec!["read_file".to_owned()]), ..ViewRequest::default() };
    let reply =
        tools::why(&fixture.ctx(), WhyRequest { caller, ..request("greet") }).await.unwrap();
    assert_eq!(reply.excluded, Some(Exclusion::Agent));
    assert_eq!(reply.reason, Some(Exclusion::Agent.to_string()));
    let text = serde_json::to_string(&reply).unwrap();
    assert_eq!(serde_json::from_str::<tools::WhyReply>(&text).unwrap(), reply);
}

#[tokio::test]
async fn why_suggests_names_for_unknown_tools_and_agents() {
    let fixture = Fixture::new().await;
    let error = tools::why(&fixture.ctx(), request("greeet")).await.unwrap_err();
    assert!(
        matches!(&error, OpError::NotFound { what: Resource::Tool, near, .. } if near == &["greet"]),
        "{error:?}"
    );
    let unknown = WhyRequest { agent: Some("nemo".to_owned()), ..request("greet") };
    let error = tools::why(&fixture.ctx(), unknown).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { what: Resource::Agent, .. }), "{error:?}");
}

#[tokio::test]
async fn a_dry_run_predicts_the_end_of_a_call_and_runs_nothing() {
    let fixture = Fixture::new().await;
    let request = |tool: &str| {
        let call = Call::new(tool, RawArgs::Value(json!({})));
        DryRunRequest { batch: fixture.toolcrib.manual_batch(vec![call], Origin::Cli) }
    };
    let reply = tools::dry_run(&fixture.ctx(), request("greet")).await.unwrap();
    assert_eq!((reply.would, reply.refused.as_ref()), (Prediction::Run, None));
    assert!(!reply.stages.is_empty());
    let text = serde_json::to_string(&reply).unwrap();
    assert_eq!(serde_json::from_str::<tools::DryRunReply>(&text).unwrap(), reply);
    let reply = tools::dry_run(&fixture.ctx(), request("greeet")).await.unwrap();
    assert_eq!(reply.would, Prediction::Fail);
    assert_eq!(reply.refused.unwrap().error_type, ErrorType::ToolNotFound);
    assert_eq!(fixture.tool.runs(), 0);
    let empty = DryRunRequest { batch: fixture.toolcrib.manual_batch(Vec::new(), Origin::Cli) };
    assert!(matches!(tools::dry_run(&fixture.ctx(), empty).await, Err(OpError::Invalid(_))));
}
