//! Runs of agents: begun, looked at, spoken to, stopped, taken up.
//!
//! There is no way to delete a run: what it did stays on record.

mod body;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::{ConversationId, RunId, RunStatus, StoredRun};
use toolcrib_app::providers::chat::UserMessage;

use crate::api::{Api, Json, Operation, Page, PageQuery, Path, Query, cursor, etagged, of_cursor};
use crate::daemon::Daemon;
use crate::live::{self, How, RunView, Wanted, run_id, stored};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::work::{ABOUT_KEY, KEY, key_of};

pub(super) use body::NewRun;

/// The list, as its cursors name it.
const LIST: &str = "runs";
/// What a reader of a stream has seen last.
const ABOUT_LAST: &str = "Id of the last event that was seen: the stream goes on after it, where that is still known, and begins with the state otherwise.";

/// A run in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunRow {
    /// Its id.
    pub(crate) run: String,
    /// Its conversation.
    pub(crate) conversation: String,
    /// The agent.
    pub(crate) agent: String,
    /// Where it stands: `running`, `paused` or `ended`.
    pub(crate) state: String,
    /// Why it waits or how it ended.
    pub(crate) status: Option<String>,
    /// What its conversation is about.
    pub(crate) topic: String,
    /// Who asked for it.
    pub(crate) by: String,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    /// Milliseconds since 1970 of its last step.
    pub(crate) updated_at: i64,
}

impl RunRow {
    /// What it is about was said by somebody: whoever only looks is not shown it.
    pub(crate) fn of(run: &StoredRun, payloads: bool) -> Self {
        let topic = Some(&run.context.topic).filter(|_| payloads);
        Self {
            run: run.id.to_string(),
            conversation: run.conversation.to_string(),
            agent: run.context.agent.clone(),
            state: run.status.as_str().to_owned(),
            status: stored::status_of(run).0,
            topic: topic.cloned().unwrap_or_default(),
            by: run.context.device.clone(),
            created_at: run.created_at,
            updated_at: run.updated_at,
        }
    }
}

/// Which runs are listed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Listed {
    /// Only those that stand here: `running`, `paused` or `ended`.
    state: Option<live::RunState>,
    /// Most rows, 1 to 500; 50 when nobody says.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Something that is said to a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Steer {
    /// The words, at least one.
    text: String,
}

pub(super) fn routes(api: &mut Api) {
    let begin = Operation::post("/runs", Role::Caller, "Lets an agent work.")
        .about("The run is stored before it is answered, and goes on whoever goes away. `wait` holds the answer back until the run has ended or waits for a person; `stream`, or `Accept: text/event-stream`, answers with its events.")
        .header(KEY, ABOUT_KEY)
        .body::<NewRun>()
        .ok::<RunView>("It has ended: the answer with everything that was said and done.")
        .gives("text/event-stream", "With `stream`: its events, as `GET /runs/{run}/events` has them.")
        .answers::<RunView>(202, "It works, or waits for a person.");
    api.add(begin, begin_run);
    let list = Operation::get("/runs", Role::Viewer, "Lists runs, the newest first.");
    api.add(list.query::<Listed>().ok::<Page<RunRow>>("Your runs.").etagged(), list_runs);
    let show = Operation::get("/runs/{run}", Role::Viewer, "Shows a run as it is now.");
    api.add(show.ok::<RunView>("Its exact state."), show_run);
    let events = Operation::get("/runs/{run}/events", Role::Caller, "Streams a run.")
        .about("The first event is `snapshot`: the run as `GET /runs/{run}` has it. Then come the events of docs/events.md under their names. The stream ends when the run has ended, when another daemon has taken it, or when this one stops.")
        .header("last-event-id", ABOUT_LAST)
        .gives("text/event-stream", "Its events.");
    api.add(events, stream_run);
    let stop = Operation::post("/runs/{run}/stop", Role::Caller, "Stops a run for good.")
        .about("Its request is dropped, its tools are stopped, its questions are withdrawn; what was said stays.");
    api.add(
        stop.ok::<RunView>("It has ended.").answers::<RunView>(202, "It is being stopped."),
        stop_run,
    );
    let steer = Operation::post("/runs/{run}/steer", Role::Caller, "Says something to a run at work.")
        .about("The words are said to the model before its next request. A run that waits for a person hears them when it goes on.");
    api.add(steer.body::<Steer>().answers::<RunView>(202, "It will be said."), steer_run);
    let resume = Operation::post("/runs/{run}/resume", Role::Caller, "Takes up a run that waits or was left behind.")
        .about("The daemon does this itself when its questions are decided; this is for those who do not want to wait.");
    api.add(resume.answers::<RunView>(202, "It goes on."), resume_run);
    let all = Operation::get("/events", Role::Viewer, "Streams what happens to all runs, questions and switches.")
        .about("The first event is `snapshot`: the runs that are not over and the questions that are open. Then `run`, `approval`, `decision` and `switch`.")
        .header("last-event-id", ABOUT_LAST)
        .gives("text/event-stream", "Changes.");
    api.add(all, stream_all);
}

/// A run of this principal. Somebody else's is not there.
pub(crate) async fn of(
    daemon: &Daemon,
    principal: &Principal,
    id: &str,
) -> Result<StoredRun, Problem> {
    let id = run_id(id)?;
    let found = daemon.stores().runs.run(id).await?;
    let mine = found.filter(|run| run.context.owner == principal.owner);
    mine.ok_or_else(|| Problem::not_found(format!("there is no run {id}")))
}

async fn begin_run(
    State(daemon): State<Daemon>,
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
    let key = key_of(&headers)?.map(|key| (key, new.fingerprint(&principal)));
    let wish = new.wish(&principal)?;
    let id = live::begin(&daemon, &principal, Wanted { wish, key }).await?;
    let run = of(&daemon, &principal, &id.to_string()).await?;
    let mut response = if stream {
        live::of_run(&daemon, run, &HeaderMap::new()).await?
    } else {
        match daemon.live().get(id).filter(|_| wait) {
            Some(live) => {
                live.settled().await;
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

/// A run as it is now; 202 while it is not over.
async fn show(daemon: &Daemon, principal: &Principal, id: RunId) -> Result<Response, Problem> {
    let view = view(daemon, principal, id).await?;
    let over = view.state == live::RunState::Ended;
    let status = if over { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(view)).into_response())
}

async fn view(daemon: &Daemon, principal: &Principal, id: RunId) -> Result<RunView, Problem> {
    let view = match daemon.live().get(id).filter(|live| live.owner == principal.owner) {
        Some(live) => RunView::clone(&live.view()),
        None => {
            let run = of(daemon, principal, &id.to_string()).await?;
            stored::view(daemon, &run).await?
        }
    };
    Ok(if principal.sees_payloads() { view } else { view.without_payloads() })
}

async fn list_runs(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<Listed>,
) -> Result<Response, Problem> {
    let rows = PageQuery::rows(query.limit)?;
    let status = query.state.map(|state| match state {
        live::RunState::Running => RunStatus::Running,
        live::RunState::Paused => RunStatus::Paused,
        live::RunState::Ended => RunStatus::Ended,
    });
    let store = &daemon.stores().runs;
    let owner = &principal.owner;
    let found = match of_cursor::<(i64, RunId)>(LIST, query.cursor.as_deref())? {
        None => store.runs(owner, status, rows + 1).await?,
        Some(before) => store.runs_before(owner, status, before, rows + 1).await?,
    };
    let next = found.get(rows.saturating_sub(1)).filter(|_| found.len() > rows);
    let next = next.map(|last| cursor(LIST, &(last.created_at, last.id)));
    let payloads = principal.sees_payloads();
    let items = found.iter().take(rows).map(|run| RunRow::of(run, payloads)).collect();
    Ok(etagged(&headers, &Page { items, next }))
}

async fn show_run(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    let id = run_id(&id)?;
    Ok(Json(view(&daemon, &principal, id).await?))
}

async fn stream_run(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = of(&daemon, &principal, &id).await?;
    live::of_run(&daemon, run, &headers).await
}

async fn stream_all(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    live::of_everything(&daemon, &principal, &headers).await
}

/// It has ended: nothing can be done to it any more.
fn ended(run: &StoredRun) -> Problem {
    let status = stored::status_of(run).0.unwrap_or_default();
    Problem::conflict(format!("the run {} has ended ({status})", run.id))
}

async fn stop_run(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = of(&daemon, &principal, &id).await?;
    principal.must_not_meddle(&run.context.device)?;
    if daemon.live().drives(run.id)
        && let Some(live) = daemon.live().get(run.id)
    {
        live.stop();
        live.settled().await;
        return show(&daemon, &principal, run.id).await;
    }
    if run.status == RunStatus::Ended {
        // Whoever stops it twice has what was asked for.
        return show(&daemon, &principal, run.id).await;
    }
    // Wherever it was worked on, this takes it from there: nothing more of it is stored by anybody else.
    let id = run.id;
    let live = live::take_up(&daemon, run, How { stop: true, ..How::default() }).await?;
    live.settled().await;
    show(&daemon, &principal, id).await
}

async fn steer_run(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
    Json(Steer { text }): Json<Steer>,
) -> Result<Response, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::invalid("text must not be empty"));
    }
    let run = of(&daemon, &principal, &id).await?;
    principal.must_lead(&run.context.device)?;
    let message = UserMessage { text, ..UserMessage::default() };
    let id = run.id;
    if daemon.live().drives(id)
        && let Some(live) = daemon.live().get(id)
    {
        live.say(message);
        return Ok(
            (StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response()
        );
    }
    match run.status {
        RunStatus::Ended => Err(ended(&run)),
        RunStatus::Running if !live::is_abandoned(&daemon, &run).await? => Err(Problem::conflict(
            format!("another process works on the run {id}; it can only be spoken to there"),
        )),
        RunStatus::Running | RunStatus::Paused => {
            let how = How { message: Some(message), ..How::default() };
            live::take_up(&daemon, run, how).await?;
            Ok((StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response())
        }
    }
}

async fn resume_run(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = of(&daemon, &principal, &id).await?;
    principal.must_lead(&run.context.device)?;
    let id = run.id;
    match run.status {
        RunStatus::Ended => return Err(ended(&run)),
        // It works: that is what was asked for.
        RunStatus::Running if !live::is_abandoned(&daemon, &run).await? => {}
        RunStatus::Running => drop(live::take_up(&daemon, run, How::default()).await?),
        RunStatus::Paused => {
            let asked: Vec<_> =
                stored::pending(&run).iter().filter_map(|wait| wait.approval()).collect();
            let pending = daemon.stores().approvals.pending().await?;
            let open: Vec<_> =
                asked.iter().filter(|id| pending.iter().any(|p| p.id == **id)).collect();
            if !asked.is_empty() && open.len() == asked.len() {
                let words =
                    format!("the run {id} waits for a person; decide about what it asks first");
                return Err(Problem::conflict(words).about(serde_json::json!({"approvals": open})));
            }
            drop(live::take_up(&daemon, run, How::default()).await?);
        }
    }
    Ok((StatusCode::ACCEPTED, Json(view(&daemon, &principal, id).await?)).into_response())
}

/// The id of a conversation out of a body or a path.
pub(crate) fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    let wrong = |_| Problem::new(Code::NotFound, format!("there is no conversation {text}"));
    text.parse().map_err(wrong)
}
