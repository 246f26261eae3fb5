//! Sums of usage.

use serde_json::json;
use toolcrib_ops::usage::{self, UsageRequest, UsageRows};

use crate::fixture::Fixture;

#[tokio::test]
async fn calls_are_counted_by_tool_within_a_window() {
    let fixture = Fixture::new().await;
    fixture.call("greet", json!({})).await;
    fixture.call("greet", json!({})).await;
    let request = UsageRequest { by: UsageRows::Tool, since: None, until: None };
    let reply = usage::usage(&fixture.store(), request.clone()).await.unwrap();
    let counted: Vec<_> = reply.totals.iter().map(|sum| (&*sum.name, sum.calls)).collect();
    assert_eq!(counted, [("greet", Some(2))]);
    let window = UsageRequest { until: Some(1), ..request.clone() };
    assert_eq!(usage::usage(&fixture.store(), window).await.unwrap().totals, []);
    let empty = UsageRequest { since: Some(2), until: Some(1), ..request.clone() };
    assert_eq!(usage::usage(&fixture.store(), empty).await.unwrap().totals, []);
    assert_eq!(usage::usage(&fixture.other_owner(), request).await.unwrap().totals, []);
}
