//! Runs of agents: starting, reading, messaging, stopping and resuming them.
//!
//! A run cannot be deleted: the record of its actions stays.

mod images;
mod owner_stream;
mod request;
mod run_stream;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ConversationId, RunId, RunStatus, StoredRun};
use toolcrib_ops::Resource;
use toolcrib_ops::runs::{self, ListRunsRequest, RunRow, RunSnapshot};
use toolcrib_providers::conversation::UserMessage;

use crate::active_requests::{
    IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER, idempotency_key,
};
use crate::api::{
    Api, Json, Operation, Page, PageQuery, Path, Query, cursor, etag_response, parse_cursor,
    parse_id, parse_run_id,
};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::routes::surroundings::accept_language;
use crate::run_supervisor::{self, Requester, ResumeOptions, StartOptions};
use crate::state::DaemonState;

use images::{NewImage, decode_images};
pub(super) use request::NewRun;

/// Name of the list in cursors.
const LIST: &str = "runs";
/// Description of the header with the last event that a client has received.
const ABOUT_LAST: &str = "The id of the last event that the client received: the stream continues after it if it is still known, and otherwise begins with the snapshot.";

/// The runs to list.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ListRunsQuery {
    /// Only runs in this state: `running`, `paused` or `ended`.
    state: Option<RunStatus>,
    /// The maximum number of rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// A message to a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SteerBody {
    /// The text, at least one word.
    text: String,
    /// Images with the text, at most 8, for models that accept images; other models get a note
    /// about them.
    #[serde(default)]
    images: Vec<NewImage>,
}

pub(super) fn routes(api: &mut Api) {
    let begin = Operation::post("/runs", Role::Caller, "Starts a run of an agent.")
        .description("The daemon stores the run before it answers, and continues it when the client disconnects. With `wait`, the reply comes when the run has ended or waits for a person; `stream`, or `Accept: text/event-stream`, answers with its events.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<NewRun>()
        .returns_ok::<RunSnapshot>("The run has ended: the answer with all messages and calls.")
        .returns_media("text/event-stream", "With `stream`: its events, as `GET /runs/{run}/events` has them.")
        .returns::<RunSnapshot>(202, "The run is active, or waits for a person.");
    api.add(begin, start_run);
    let list = Operation::get("/runs", Role::Viewer, "Lists runs, newest first.");
    api.add(
        list.query::<ListRunsQuery>().returns_ok::<Page<RunRow>>("Your runs.").etagged(),
        list_runs,
    );
    let show = Operation::get("/runs/{run}", Role::Viewer, "Shows the current state of a run.");
    api.add(show.returns_ok::<RunSnapshot>("Its exact state."), show_run);
    let events = Operation::get("/runs/{run}/events", Role::Caller, "Streams a run.")
        .description("The first event is `snapshot`: the run as `GET /runs/{run}` has it. Then come the events of docs/events.md under their names. The stream ends when the run has ended, when another daemon has taken it, or when this one stops.")
        .header("last-event-id", ABOUT_LAST)
        .returns_media("text/event-stream", "Its events.");
    api.add(events, stream_run);
    let stop = Operation::post("/runs/{run}/stop", Role::Caller, "Stops a run permanently.")
        .description("Its request to the model is dropped, its tools are stopped, and its questions are withdrawn; its messages stay.");
    api.add(
        stop.returns_ok::<RunSnapshot>("It has ended.")
            .returns::<RunSnapshot>(202, "The run is stopping."),
        stop_run,
    );
    let steer = Operation::post("/runs/{run}/steer", Role::Caller, "Sends a message to an active run.")
        .description("The model gets the message with its next request; a run that waits for a person sends it when it continues.");
    api.add(
        steer.body::<SteerBody>().returns::<RunSnapshot>(202, "The message is accepted."),
        steer_run,
    );
    let resume = Operation::post("/runs/{run}/resume", Role::Caller, "Resumes a run that is paused or was interrupted.")
        .description("The daemon does this itself when the questions of the run are decided; this route does it at once.");
    api.add(resume.returns::<RunSnapshot>(202, "The run continues."), resume_run);
    let all = Operation::get("/events", Role::Viewer, "Streams changes of all runs, approvals and switches.")
        .description("The first event is `snapshot`: the runs that have not ended and the open approvals. Then come `run`, `approval`, `decision`, `switch`, `notification`, `drafts.changed` and `conversations.changed`.")
        .header("last-event-id", ABOUT_LAST)
        .returns_media("text/event-stream", "Changes.");
    api.add(all, stream_all_runs);
}

/// Returns a run of this principal. A run of another owner is reported as not found.
pub(crate) async fn find_run(
    daemon: &DaemonState,
    principal: &Principal,
    id: &str,
) -> Result<StoredRun, Problem> {
    let id = parse_run_id(id)?;
    Ok(runs::find(&daemon.store_context(principal), id).await?)
}

async fn start_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Json(new): Json<NewRun>,
) -> Result<Response, Problem> {
    let (wait, stream) = (new.wait, new.stream || wants_events(&headers));
    if wait && stream {
        return Err(Problem::invalid(
            "wait and stream exclude each other; a stream ends with the run",
        ));
    }
    let key = idempotency_key(&headers)?.map(|key| (key, new.fingerprint(&principal)));
    let wish = new.run_request(&principal, accept_language(&headers))?;
    let requester = Requester {
        name: principal.name.clone(),
        client: principal.client.clone(),
        tools: principal.tools.clone(),
    };
    let options = StartOptions { request: wish, requester, key, untrusted: None };
    let id = run_supervisor::start_run(daemon.run_supervisor(), options).await?;
    let run = find_run(&daemon, &principal, &id.to_string()).await?;
    let mut response = if stream {
        run_stream::stream_run(&daemon, run, &HeaderMap::new()).await?
    } else {
        match daemon.run_supervisor().get(id).filter(|_| wait) {
            Some(live) => {
                live.wait_until_idle().await;
                show(&daemon, &principal, id).await?
            }
            None => show(&daemon, &principal, id).await?,
        }
    };
    if let Ok(place) = HeaderValue::from_str(&format!("{}/runs/{id}", crate::api::BASE)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Responds with the current state of a run; with status 202 while it has not ended.
async fn show(daemon: &DaemonState, principal: &Principal, id: RunId) -> Result<Response, Problem> {
    let view = view(daemon, principal, id).await?;
    let over = view.state == RunStatus::Ended;
    let status = if over { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(view)).into_response())
}

async fn view(
    daemon: &DaemonState,
    principal: &Principal,
    id: RunId,
) -> Result<RunSnapshot, Problem> {
    match daemon.run_supervisor().get(id).filter(|live| live.owner == principal.owner) {
        Some(live) => Ok(RunSnapshot::clone(&live.view()).for_caller(principal.sees_payloads())),
        None => Ok(runs::show(&daemon.op_context(principal, None), id).await?),
    }
}

async fn list_runs(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ListRunsQuery>,
) -> Result<Response, Problem> {
    let request = ListRunsRequest {
        state: query.state,
        before: parse_cursor::<(i64, RunId)>(LIST, query.cursor.as_deref())?,
        limit: PageQuery::page_size(query.limit)?,
        topics_of: principal.tools.is_some().then_some(principal.name.as_str()),
    };
    let reply = runs::list(&daemon.store_context(&principal), request).await?;
    let next = reply.next.map(|last| cursor(LIST, &last));
    Ok(etag_response(&headers, &Page { items: reply.runs, next }))
}

async fn show_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<RunSnapshot>, Problem> {
    let run = find_run(&daemon, &principal, &id).await?;
    principal.require_unrestricted_or_own(&run.context.device)?;
    Ok(Json(view(&daemon, &principal, run.id).await?))
}

async fn stream_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = find_run(&daemon, &principal, &id).await?;
    principal.require_unrestricted_or_own(&run.context.device)?;
    run_stream::stream_run(&daemon, run, &headers).await
}

async fn stream_all_runs(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    owner_stream::stream_all(&daemon, &principal, &headers).await
}

/// Returns the problem of a run that has ended, which no operation can change.
fn run_ended_problem(run: &StoredRun) -> Problem {
    let status = runs::status_text(run).0.unwrap_or_default();
    Problem::conflict(format!("the run {} has ended ({status})", run.id))
}

async fn stop_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = find_run(&daemon, &principal, &id).await?;
    principal.require_unrestricted_or_own(&run.context.device)?;
    if daemon.run_supervisor().is_driving(run.id)
        && let Some(live) = daemon.run_supervisor().get(run.id)
    {
        live.stop();
        live.wait_until_idle().await;
        return show(&daemon, &principal, run.id).await;
    }
    if run.status == RunStatus::Ended {
        // Stopping an ended run succeeds, too.
        return show(&daemon, &principal, run.id).await;
    }
    // Take the run from the process that drives it: that process can then no longer store it.
    let id = run.id;
    let live = run_supervisor::resume_run(
        daemon.run_supervisor(),
        run,
        ResumeOptions { stop: true, ..ResumeOptions::default() },
    )
    .await?;
    live.wait_until_idle().await;
    show(&daemon, &principal, id).await
}

async fn steer_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SteerBody { text, images }): Json<SteerBody>,
) -> Result<Response, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::invalid("text must not be empty"));
    }
    let images = decode_images(&images)?;
    let run = find_run(&daemon, &principal, &id).await?;
    principal.require_control_of(&run.context.device)?;
    let message = UserMessage { text, images, ..UserMessage::default() };
    let id = run.id;
    if daemon.run_supervisor().is_driving(id)
        && let Some(live) = daemon.run_supervisor().get(id)
    {
        live.send_message(message);
        return Ok(
            (StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response()
        );
    }
    match run.status {
        RunStatus::Ended => Err(run_ended_problem(&run)),
        RunStatus::Running
            if !run_supervisor::is_abandoned(daemon.run_supervisor(), &run).await? =>
        {
            Err(Problem::conflict(format!(
                "another process works on the run {id}; it can only be spoken to there"
            )))
        }
        RunStatus::Running | RunStatus::Paused => {
            let how = ResumeOptions { message: Some(message), ..ResumeOptions::default() };
            run_supervisor::resume_run(daemon.run_supervisor(), run, how).await?;
            Ok((StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response())
        }
    }
}

async fn resume_run(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = find_run(&daemon, &principal, &id).await?;
    principal.require_control_of(&run.context.device)?;
    let id = run.id;
    match run.status {
        RunStatus::Ended => return Err(run_ended_problem(&run)),
        // The run is already active, as requested.
        RunStatus::Running
            if !run_supervisor::is_abandoned(daemon.run_supervisor(), &run).await? => {}
        RunStatus::Running => {
            let options = ResumeOptions::default();
            drop(run_supervisor::resume_run(daemon.run_supervisor(), run, options).await?);
        }
        RunStatus::Paused => {
            runs::require_decision(&daemon.store_context(&principal), &run).await?;
            let options = ResumeOptions::default();
            drop(run_supervisor::resume_run(daemon.run_supervisor(), run, options).await?);
        }
    }
    Ok((StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response())
}

/// Parses the id of a conversation in a body or a path.
pub(crate) fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    parse_id(Resource::Conversation, text)
}
