//! Tasks of the scheduler: making, looking at and changing them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::task::When;
use toolcrib_core::TaskId;
use toolcrib_ops::tasks::{
    self, AddTaskRequest, ChangeTaskRequest, ListTasksRequest, ShowTaskRequest, TaskChange,
    TaskReply,
};
use toolcrib_ops::{OpError, Resource};

use crate::api::{Api, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::routes::surroundings::{PersonSurroundings, accept_language};
use crate::state::DaemonState;

/// Which tasks.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TaskQuery {
    /// Only those that may run again.
    open: bool,
}

/// A task to make. Exactly one of `execute_at`, `cron`, `on_heartbeat`, `hook` and `on_change`, or
/// `recurrence` with `execute_at` as its first time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// What it is for, in a few words.
    description: String,
    /// What its runs are told, or what an alarm says.
    prompt: String,
    /// Whether it is an alarm: it notifies every minute until it is dismissed.
    #[serde(default)]
    alarm: bool,
    /// Whether it notifies once, with `prompt` as the message, and runs no agent.
    #[serde(default)]
    notification: bool,
    /// A time in ISO 8601.
    #[serde(default)]
    execute_at: Option<String>,
    /// Five fields; day of month and day of week must both match.
    #[serde(default)]
    cron: Option<String>,
    /// `daily`, `weekly`, `monthly`, `weekdays`, `hourly` or `interval:N` in minutes.
    #[serde(default)]
    recurrence: Option<String>,
    /// First time of the day of `hourly` and `interval:N`, such as `9:00`; with `window_end`.
    #[serde(default)]
    window_start: Option<String>,
    /// The time of the day at which these end.
    #[serde(default)]
    window_end: Option<String>,
    /// At every heartbeat.
    #[serde(default)]
    on_heartbeat: bool,
    /// When `POST /hooks/{hook}` is called with this name, signed with the secret `hook-NAME`.
    #[serde(default)]
    hook: Option<String>,
    /// When a file of the workspace changes that this glob matches.
    #[serde(default)]
    on_change: Option<String>,
    /// IANA name of a time zone; default that of `surroundings`, else that of the daemon's machine.
    #[serde(default)]
    zone: Option<String>,
    /// The agent of its runs; default the configured one.
    #[serde(default)]
    agent: Option<String>,
    /// What the client says about the person, for its runs; an `Accept-Language` counts as the
    /// locale where it says none.
    #[serde(default)]
    surroundings: PersonSurroundings,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tasks", Role::Viewer, "Lists tasks, oldest first.");
    api.add(
        list.query::<TaskQuery>().returns_ok::<Page<TaskReply>>("Your tasks.").etagged(),
        list_tasks,
    );
    let add = Operation::post("/tasks", Role::Operator, "Makes a task.");
    let add = add.description("The daemon runs it when it is due, in the channel `background`: a call that needs a person is denied and left in the inbox.");
    api.add(add.body::<NewTask>().returns_ok::<TaskReply>("The task."), add_task);
    let show = Operation::get("/tasks/{task}", Role::Viewer, "Shows a task with its history.");
    api.add(show.returns_ok::<TaskReply>("The task."), show_task);
    let cancel = Operation::delete("/tasks/{task}", Role::Operator, "Cancels a task.");
    api.add(cancel.returns_ok::<TaskReply>("It does not run again."), cancel_task);
    let pause = Operation::post("/tasks/{task}/pause", Role::Operator, "Pauses a task.");
    api.add(pause.returns_ok::<TaskReply>("It does not run until it is resumed."), pause_task);
    let resume = Operation::post("/tasks/{task}/resume", Role::Operator, "Resumes a task.");
    let resume = resume
        .description("Who resumes a task whose text came from outside answers for that text.");
    api.add(resume.returns_ok::<TaskReply>("It runs at its next time."), resume_task);
    let run = Operation::post("/tasks/{task}/run", Role::Operator, "Makes a task due now.");
    api.add(run.returns_ok::<TaskReply>("It starts within a second."), run_task);
    let dismiss = Operation::post("/tasks/{task}/dismiss", Role::Operator, "Dismisses an alarm.");
    api.add(dismiss.returns_ok::<TaskReply>("It does not ring any more."), dismiss_task);
}

/// A text that is no id names no task.
fn parse_id(text: &str) -> Result<TaskId, Problem> {
    text.parse().map_err(|_| OpError::not_found(Resource::Task, text).into())
}

async fn list_tasks(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<TaskQuery>,
) -> Result<Response, Problem> {
    let request = ListTasksRequest { only_open: query.open };
    let rows = tasks::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn add_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Json(new): Json<NewTask>,
) -> Result<Json<TaskReply>, Problem> {
    let request = AddTaskRequest {
        description: new.description,
        prompt: new.prompt,
        is_alarm: new.alarm,
        is_notification: new.notification,
        when: When {
            execute_at: new.execute_at,
            cron: new.cron,
            recurrence: new.recurrence,
            window_start: new.window_start,
            window_end: new.window_end,
            on_heartbeat: new.on_heartbeat,
            hook: new.hook,
            on_change: new.on_change,
        },
        zone: new.zone,
        surroundings: new.surroundings.checked(accept_language(&headers))?,
        agent: new.agent,
    };
    Ok(Json(tasks::add(&daemon.op_context(&principal, None), request).await?))
}

async fn show_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    let request = ShowTaskRequest { id: parse_id(&id)? };
    Ok(Json(tasks::show(&daemon.op_context(&principal, None), request).await?))
}

async fn change(
    daemon: &DaemonState,
    principal: &Principal,
    id: &str,
    change: TaskChange,
) -> Result<Json<TaskReply>, Problem> {
    let request = ChangeTaskRequest { id: parse_id(id)?, change };
    Ok(Json(tasks::change(&daemon.op_context(principal, None), request).await?))
}

async fn cancel_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    change(&daemon, &principal, &id, TaskChange::Cancel).await
}

async fn pause_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    change(&daemon, &principal, &id, TaskChange::Pause).await
}

async fn resume_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    change(&daemon, &principal, &id, TaskChange::Resume).await
}

async fn run_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    change(&daemon, &principal, &id, TaskChange::Run).await
}

async fn dismiss_task(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TaskReply>, Problem> {
    change(&daemon, &principal, &id, TaskChange::Dismiss).await
}
