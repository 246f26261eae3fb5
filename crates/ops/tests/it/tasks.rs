//! Operations on tasks.

use toolcrib_assistant::task::When;
use toolcrib_core::{Surroundings, TaskId};
use toolcrib_ops::OpError;
use toolcrib_ops::tasks::{
    self, AddTaskRequest, ChangeTaskRequest, ListTasksRequest, ShowTaskRequest, TaskChange,
};

use crate::fixture::Fixture;

fn water() -> AddTaskRequest {
    AddTaskRequest {
        description: "Water".to_owned(),
        prompt: "Water the plants".to_owned(),
        when: When { execute_at: Some("2099-01-01T09:00".to_owned()), ..When::default() },
        zone: Some("UTC".to_owned()),
        surroundings: Surroundings::default(),
        is_alarm: false,
        is_notification: false,
        agent: None,
    }
}

#[tokio::test]
async fn a_task_is_made_paused_resumed_and_cancelled_by_its_owner() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    let made = tasks::add(&ctx, water()).await.unwrap();
    assert_eq!((made.status.as_str(), made.next.len(), made.by.as_str()), ("PENDING", 1, "ann"));
    let id: TaskId = made.task.parse().unwrap();
    let change = |change| ChangeTaskRequest { id, change };
    let paused = tasks::change(&ctx, change(TaskChange::Pause)).await.unwrap();
    assert_eq!(paused.status, "PAUSED");
    let resumed = tasks::change(&ctx, change(TaskChange::Resume)).await.unwrap();
    assert_eq!(resumed.status, "PENDING");
    let seen = tasks::show(&fixture.ctx_of(fixture.viewer()), ShowTaskRequest { id }).await;
    assert_eq!(seen.unwrap().prompt, None);
    let of_other = fixture.ctx_of(fixture.other_owner());
    let foreign = tasks::change(&of_other, change(TaskChange::Cancel)).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    tasks::change(&ctx, change(TaskChange::Cancel)).await.unwrap();
    let open = ListTasksRequest { only_open: true };
    assert_eq!(tasks::list(&ctx, open).await.unwrap(), []);
    assert_eq!(tasks::list(&ctx, ListTasksRequest::default()).await.unwrap().len(), 1);
    let error = tasks::change(&ctx, change(TaskChange::Resume)).await.unwrap_err();
    assert!(matches!(error, OpError::Conflict(_)), "{error:?}");
}

#[tokio::test]
async fn a_task_that_is_never_due_and_a_hook_of_another_owner_are_invalid() {
    let fixture = Fixture::new().await;
    let never = AddTaskRequest { when: When::default(), ..water() };
    let error = tasks::add(&fixture.ctx(), never).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
    let hook = When { hook: Some("deploy".to_owned()), ..When::default() };
    let of_other = fixture.ctx_of(fixture.other_owner());
    let error = tasks::add(&of_other, AddTaskRequest { when: hook, ..water() }).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
}
