//! Operations on goals.

use toolcrib_ops::OpError;
use toolcrib_ops::goals::{
    self, ChangeGoalRequest, GoalChange, ListGoalsRequest, ShowGoalRequest, StartGoalRequest,
};

use crate::fixture::Fixture;

fn learn() -> StartGoalRequest {
    StartGoalRequest { text: "Learn to tie knots".to_owned(), ..StartGoalRequest::default() }
}

#[tokio::test]
async fn a_goal_is_started_shown_and_closed_by_its_owner() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    let goal = goals::start(&ctx, learn()).await.unwrap();
    assert_eq!((goal.status.as_str(), goal.by.as_str()), ("pending", "ann"));
    assert_eq!(goals::list(&ctx, ListGoalsRequest).await.unwrap(), std::slice::from_ref(&goal));
    let show = ShowGoalRequest { goal: goal.goal.clone() };
    let seen = goals::show(&fixture.ctx_of(fixture.viewer()), show.clone()).await.unwrap();
    assert_eq!((seen.text, seen.status.as_str()), (None, "pending"));
    let foreign = goals::show(&fixture.ctx_of(fixture.other_owner()), show).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    let close = ChangeGoalRequest { goal: goal.goal, change: GoalChange::Close };
    assert_eq!(goals::change(&ctx, close.clone()).await.unwrap().status, "cancelled");
    let resume = ChangeGoalRequest { change: GoalChange::Resume, ..close };
    let error = goals::change(&ctx, resume).await.unwrap_err();
    assert!(matches!(error, OpError::Conflict(_)), "{error:?}");
}

#[tokio::test]
async fn a_budget_out_of_range_and_an_empty_text_are_invalid() {
    let fixture = Fixture::new().await;
    for request in [
        StartGoalRequest { rounds: Some(0), ..learn() },
        StartGoalRequest { rounds: Some(101), ..learn() },
        StartGoalRequest { tokens: Some(0), ..learn() },
        StartGoalRequest { text: "  ".to_owned(), ..learn() },
    ] {
        let error = goals::start(&fixture.ctx(), request.clone()).await.unwrap_err();
        assert!(matches!(error, OpError::Invalid(_)), "{request:?}: {error:?}");
    }
    assert_eq!(goals::list(&fixture.ctx(), ListGoalsRequest).await.unwrap(), []);
}
