//! Tasks of the scheduler: creating, reading and changing them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::task::When;
use toolcrib_core::{MailFilter, TaskId};
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

/// Filter of tasks.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TaskQuery {
    /// Lists only tasks that may run again.
    open: bool,
}

/// A task to create. Exactly one of `execute_at`, `cron`, `on_heartbeat`, `hook`, `on_change` and
/// `on_mail`, or `recurrence` with `execute_at` as its first time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// Its purpose, in a few words.
    description: String,
    /// The prompt of its runs, or the text of an alarm.
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
    /// Start of the daily window of `hourly` and `interval:N`, such as `9:00`; with `window_end`.
    #[serde(default)]
    window_start: Option<String>,
    /// End of the daily window.
    #[serde(default)]
    window_end: Option<String>,
    /// Whether the task runs at every heartbeat.
    #[serde(default)]
    on_heartbeat: bool,
    /// Name of a webhook: the task runs when `POST /hooks/{hook}` is called, signed with the secret
    /// `hook-NAME`.
    #[serde(default)]
    hook: Option<String>,
    /// Glob of files: the task runs when a matching file of the workspace changes.
    #[serde(default)]
    on_change: Option<String>,
    /// Filter of mail: the task runs when matching mail arrives; `{}` matches all mail.
    #[serde(default)]
    on_mail: Option<MailFilter>,
    /// IANA name of a time zone; default that of `surroundings`, else that of the daemon's machine.
    #[serde(default)]
    zone: Option<String>,
    /// The agent of its runs; default the configured one.
    #[serde(default)]
    agent: Option<String>,
    /// Information from the client about the person, for its runs; without a locale,
    /// `Accept-Language` applies.
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
    let add = add.description("The daemon runs it when it is due, in the channel `background`: a call that needs a person is denied and put into the inbox.");
    api.add(add.body::<NewTask>().returns_ok::<TaskReply>("The task."), add_task);
    let show = Operation::get("/tasks/{task}", Role::Viewer, "Shows a task with its history.");
    api.add(show.returns_ok::<TaskReply>("The task."), show_task);
    let cancel = Operation::delete("/tasks/{task}", Role::Operator, "Cancels a task.");
    api.add(cancel.returns_ok::<TaskReply>("It does not run again."), cancel_task);
    let pause = Operation::post("/tasks/{task}/pause", Role::Operator, "Pauses a task.");
    api.add(pause.returns_ok::<TaskReply>("It does not run until it is resumed."), pause_task);
    let resume = Operation::post("/tasks/{task}/resume", Role::Operator, "Resumes a task.");
    let resume =
        resume.description("Resuming a task whose text came from outside vouches for that text.");
    api.add(resume.returns_ok::<TaskReply>("It runs at its next time."), resume_task);
    let run = Operation::post("/tasks/{task}/run", Role::Operator, "Makes a task due now.");
    api.add(run.returns_ok::<TaskReply>("It starts within a second."), run_task);
    let dismiss = Operation::post("/tasks/{task}/dismiss", Role::Operator, "Dismisses an alarm.");
    api.add(dismiss.returns_ok::<TaskReply>("The alarm stopped ringing."), dismiss_task);
}

/// Parses the id of a task. Other texts are reported as not found.
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
            on_mail: new.on_mail,
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
