//! Webhooks that start tasks: signed requests from other programs.
//!
//! The sender has no token. Its signature proves that it knows the secret `hook-NAME` of the vault;
//! the time in the signature bounds how long a request can be replayed, and the signature is the id
//! of the event, so that a replay within that time starts nothing.

use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, is_valid};
use toolcrib_core::{
    Clock as _, SystemClock, Task, TaskEvent, TaskStatus, TaskTrigger, canonical_json,
};

use crate::api::{Api, Bytes, Json, Operation, Path};
use crate::problem::{Code, Problem};
use crate::role::Role;
use crate::state::DaemonState;

/// Maximum difference in seconds between the time of a request and the daemon's clock.
const WINDOW_S: i64 = 300;
/// Maximum number of bytes of a body.
const MAX_BODY: usize = 64 * 1024;
/// Maximum number of characters of a body that are passed to the run.
const MAX_CHARS: usize = 8_000;
/// The owner whose vault contains the secrets.
const OWNER: &str = "";

/// The result of a request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct HookAnswer {
    /// The tasks that it started.
    tasks: Vec<String>,
    /// Tasks that had already received this request.
    repeated: Vec<String>,
}

pub(super) fn routes(api: &mut Api) {
    let call = Operation::post("/hooks/{hook}", Role::Viewer, "Starts the tasks of a webhook.");
    let call = call.public().description("`X-Toolcrib-Timestamp` has the Unix time in seconds, at most 300 s from the daemon's, and `X-Toolcrib-Signature` has `sha256=` and the HMAC-SHA256, in hexadecimal digits, of that time, a dot and the body, under the secret `hook-NAME` of the vault. The body, at most 64 KiB of text, is given to the runs as text from outside. A request that is repeated starts nothing.");
    api.add(
        call.also_accepts("application/json")
            .bytes()
            .returns_ok::<HookAnswer>("The event is accepted."),
        call_hook,
    );
}

async fn call_hook(
    State(daemon): State<DaemonState>,
    Path(hook): Path<String>,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Json<HookAnswer>, Problem> {
    if body.len() > MAX_BODY {
        return Err(Problem::new(Code::TooLarge, "the body has more than 64 KiB"));
    }
    let tasks = tasks_of(&daemon, &hook).await?;
    let secret = secret_of(&daemon, &tasks).await?;
    let event = verify(&headers, &body, secret.as_deref())?;
    daemon.hook_limits().count(&hook).map_err(Problem::from)?;
    let mut answer = HookAnswer { tasks: Vec::new(), repeated: Vec::new() };
    for task in tasks {
        let added = daemon.toolcrib().tasks().add_event(OWNER, task.id, event.clone()).await;
        match added.map_err(toolcrib_ops::OpError::from)? {
            true => answer.tasks.push(task.id.to_string()),
            false => answer.repeated.push(task.id.to_string()),
        }
    }
    Ok(Json(answer))
}

/// Returns the tasks that this hook starts.
async fn tasks_of(daemon: &DaemonState, name: &str) -> Result<Vec<Task>, Problem> {
    let all = daemon.stores().tasks.tasks(OWNER).await?;
    let is_started = |task: &Task| {
        matches!(&task.trigger, TaskTrigger::Hook { hook, .. } if hook == name)
            && matches!(task.status, TaskStatus::Pending | TaskStatus::Running)
    };
    Ok(all.into_iter().filter(is_started).collect())
}

/// Returns the secret of the hook; `None` if there is no task or no secret.
async fn secret_of(daemon: &DaemonState, tasks: &[Task]) -> Result<Option<String>, Problem> {
    let Some(TaskTrigger::Hook { secret, .. }) = tasks.first().map(|task| &task.trigger) else {
        return Ok(None);
    };
    let (name, vault) = (secret.parse(), daemon.toolcrib().vault());
    let (Ok(name), Some(vault)) = (name, vault) else { return Ok(None) };
    let read = tokio::task::spawn_blocking(move || vault.read()).await;
    let secrets = match read {
        Ok(Ok(secrets)) => secrets,
        Ok(Err(error)) => return Err(unreadable(&error)),
        Err(error) => return Err(unreadable(&error)),
    };
    let found = secrets.get(&name).map(|secret| secret.expose().to_owned());
    if found.is_none() {
        tracing::warn!(secret, "a webhook has no secret, so it is refused");
    }
    Ok(found)
}

fn unreadable(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "the vault cannot be read");
    Problem::new(Code::Internal, "the secret cannot be read now")
}

/// Checks signature and time; returns the event. An unknown hook, a missing secret and a wrong
/// signature get the same answer, so that a sender without the secret does not learn the names of
/// hooks.
fn verify(headers: &HeaderMap, body: &[u8], secret: Option<&str>) -> Result<TaskEvent, Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let refuse = |why: &str| Problem::new(Code::Unauthorized, why.to_owned());
    let seconds: Option<i64> = text(TIMESTAMP_HEADER).and_then(|text| text.trim().parse().ok());
    let (Some(seconds), Some(signature)) = (seconds, text(SIGNATURE_HEADER)) else {
        return Err(Problem::new(
            Code::BadRequest,
            "send X-Toolcrib-Timestamp and X-Toolcrib-Signature, as the documentation says",
        ));
    };
    let now = SystemClock.now_ms();
    if !is_valid(secret.unwrap_or_default().as_bytes(), seconds, body, signature)
        || secret.is_none_or(str::is_empty)
    {
        return Err(refuse("the signature is not valid, or there is no such hook"));
    }
    if (now / 1_000 - seconds).abs() > WINDOW_S {
        return Err(refuse("the time of the request is more than 300 s from that of the daemon"));
    }
    let content_type = text("content-type").unwrap_or("text/plain");
    let shown: String = String::from_utf8_lossy(body).chars().take(MAX_CHARS).collect();
    // Hexadecimal digits are accepted in either case.
    let hash = canonical_json::sha256_parts(&["hook", &signature.trim().to_ascii_lowercase()]);
    Ok(TaskEvent {
        key: format!("hook-{}", hash.get(..32).unwrap_or_default()),
        at: now,
        text: format!("webhook, {}\n{shown}", first_line(content_type)),
    })
}

fn first_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
