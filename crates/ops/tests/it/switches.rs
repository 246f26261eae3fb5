//! Operations on feature switches.

use toolcrib_app::SwitchTarget;
use toolcrib_core::SwitchState;
use toolcrib_ops::switches::{self, ListSwitchesRequest, ResetSwitchRequest, SetSwitchRequest};
use toolcrib_ops::tools::{self, WhyRequest};
use toolcrib_ops::{OpError, Resource};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_switch_is_set_listed_and_reset() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    let target = SwitchTarget::Tool("greet".to_owned());
    let request = SetSwitchRequest { target: target.clone(), state: SwitchState::Off };
    let row = switches::set(&ctx, request).await.unwrap();
    assert_eq!((row.state, row.by.as_deref(), row.on), (Some(SwitchState::Off), Some("ann"), 0));
    let why = WhyRequest { tool: "greet".to_owned(), ..WhyRequest::default() };
    assert!(!tools::why(&ctx, why.clone()).await.unwrap().offered);
    let rows = switches::list(&ctx, ListSwitchesRequest).await.unwrap();
    assert!(rows.iter().any(|one| one.name == row.name && one.state == row.state), "{rows:?}");
    let request = ResetSwitchRequest { target };
    let reply = switches::reset(&ctx, request.clone()).await.unwrap();
    assert_eq!((reply.switch.state, reply.changed), (None, true));
    assert!(tools::why(&ctx, why).await.unwrap().offered);
    assert!(!switches::reset(&ctx, request).await.unwrap().changed);
}

#[tokio::test]
async fn only_things_that_exist_are_switched() {
    let fixture = Fixture::new().await;
    let set = async |target, state| {
        switches::set(&fixture.ctx(), SetSwitchRequest { target, state }).await.unwrap_err()
    };
    let error = set(SwitchTarget::Tool("greeet".to_owned()), SwitchState::On).await;
    assert!(matches!(error, OpError::NotFound { what: Resource::Tool, .. }), "{error:?}");
    let error = set(SwitchTarget::Source("none".to_owned()), SwitchState::On).await;
    assert!(matches!(error, OpError::NotFound { what: Resource::Switch, .. }), "{error:?}");
    let error = set(SwitchTarget::Everything, SwitchState::On).await;
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
    let error = set(SwitchTarget::Source("scripted".to_owned()), SwitchState::Ask).await;
    assert!(matches!(error, OpError::Refused(_)), "{error:?}");
}
