//! Terminals: shells of a person in the sandbox of programs. The daemon streams their output and
//! accepts input by POST. The audit records the typed commands under the person's name.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use toolcrib_builtins::terminal::{Frame, OutputPart, Terminal, TerminalSize};
use toolcrib_core::CancellationToken;

use crate::api::sse::{self, LAST_EVENT_ID, event_id, frame, last_event_seq, ping};
use crate::api::{Api, Bytes, Json, Operation, Page, Path};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A terminal in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TerminalRow {
    /// Its id.
    terminal: String,
    /// The isolation of its sandbox: `container`, `namespace` and others of docs/sandbox.md.
    level: String,
    /// Milliseconds since 1970.
    started_at: i64,
    /// The exit code of its shell, once it has ended.
    ended: Option<i32>,
}

/// The size of a window.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WindowSize {
    /// Columns.
    #[schemars(range(min = 1, max = 1000))]
    columns: u16,
    /// Rows.
    #[schemars(range(min = 1, max = 1000))]
    rows: u16,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/terminals", Role::Owner, "Lists terminals, oldest first.");
    api.add(list.returns_ok::<Page<TerminalRow>>("Your terminals."), list_terminals);
    let open = Operation::post(
        "/terminals",
        Role::Owner,
        "Opens a terminal: a shell in the sandbox of programs.",
    );
    let open = open.description("The shell starts in the workspace, outlives its clients, and ends with the daemon. The kill switch ends all terminals, and none can be opened while it is engaged.");
    api.add(open.body::<WindowSize>().returns::<TerminalRow>(201, "The terminal."), open_terminal);
    let output = Operation::get(
        "/terminals/{terminal}/output",
        Role::Owner,
        "Streams the output of a terminal.",
    );
    let output = output
        .description("Events `output` with `data` in Base64, `cut` where older output is no longer stored, and `end` with the exit code. The last megabyte is stored: a client continues after its `Last-Event-ID`, or begins with the stored output.")
        .header(LAST_EVENT_ID, "Id of the last event that the client received.");
    api.add(output.returns_media("text/event-stream", "Its output."), stream_output);
    let input =
        Operation::post("/terminals/{terminal}/input", Role::Owner, "Sends input to a terminal.");
    api.add(input.bytes().returns_empty(204, "The input is sent."), type_input);
    let size =
        Operation::put("/terminals/{terminal}/size", Role::Owner, "Sets the size of a terminal.");
    api.add(size.body::<WindowSize>().returns_empty(204, "The size is set."), set_size);
    let close = Operation::delete(
        "/terminals/{terminal}",
        Role::Owner,
        "Closes a terminal, and kills its programs.",
    );
    api.add(close.returns_empty(204, "The terminal is closed."), close_terminal);
}

impl WindowSize {
    fn checked(self) -> Result<TerminalSize, Problem> {
        let fits = |count: u16| (1..=1_000).contains(&count);
        if !fits(self.columns) || !fits(self.rows) {
            return Err(Problem::invalid("a window has 1 to 1000 columns and rows"));
        }
        Ok(TerminalSize { columns: self.columns, rows: self.rows })
    }
}

fn row(terminal: &Terminal) -> TerminalRow {
    TerminalRow {
        terminal: terminal.id.clone(),
        level: terminal.level.to_string(),
        started_at: terminal.started_at,
        ended: terminal.ended(),
    }
}

fn find(daemon: &DaemonState, principal: &Principal, id: &str) -> Result<Arc<Terminal>, Problem> {
    let found = daemon.terminals().find(&principal.owner, id);
    found.ok_or_else(|| {
        Problem::not_found(format!("there is no terminal {id}; GET /terminals lists them"))
    })
}

async fn list_terminals(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Json<Page<TerminalRow>> {
    let all = daemon.terminals().list(&principal.owner);
    Json(Page::single_page(all.iter().map(|terminal| row(terminal)).collect()))
}

async fn open_terminal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(size): Json<WindowSize>,
) -> Result<(StatusCode, Json<TerminalRow>), Problem> {
    let size = size.checked()?;
    let toolcrib = daemon.toolcrib();
    if !toolcrib.engine().tools_enabled() {
        return Err(Problem::conflict("all tools are off, and terminals with them"));
    }
    let nowhere = || Problem::conflict("this daemon runs no programs, so there is no terminal");
    let bench = toolcrib.workbench().ok_or_else(nowhere)?;
    let host = std::env::current_exe().map_err(|_| nowhere())?;
    let opened = daemon.terminals().open(bench, host, &principal.owner, size).await;
    let (terminal, commands) = opened.map_err(|error| Problem::conflict(error.message))?;
    daemon.admin_audit().record(&principal, "terminal.open", terminal.id.as_str()).await?;
    tokio::spawn(record_commands(daemon.clone(), principal, Arc::clone(&terminal), commands));
    Ok((StatusCode::CREATED, Json(row(&terminal))))
}

/// Records the typed input. A record that cannot be written ends the terminal: a command must
/// either be in the audit or not run.
async fn record_commands(
    daemon: DaemonState,
    principal: Principal,
    terminal: Arc<Terminal>,
    mut commands: mpsc::UnboundedReceiver<String>,
) {
    while let Some(command) = commands.recv().await {
        let about = format!("{}: {command}", terminal.id);
        if daemon.admin_audit().record(&principal, "terminal.command", about).await.is_err() {
            daemon.terminals().close(&principal.owner, &terminal.id);
            return;
        }
    }
}

async fn type_input(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Bytes(bytes): Bytes,
) -> Result<StatusCode, Problem> {
    let terminal = find(&daemon, &principal, &id)?;
    send(&terminal, Frame::Input(bytes.to_vec()))
}

async fn set_size(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(size): Json<WindowSize>,
) -> Result<StatusCode, Problem> {
    let (terminal, size) = (find(&daemon, &principal, &id)?, size.checked()?);
    // Resizing the window of a shell that has just ended succeeds, without any effect.
    if terminal.ended().is_some() {
        return Ok(StatusCode::NO_CONTENT);
    }
    send(&terminal, Frame::Size(size))
}

fn send(terminal: &Terminal, frame: Frame) -> Result<StatusCode, Problem> {
    if terminal.ended().is_some() {
        return Err(Problem::conflict("the shell of this terminal has ended"));
    }
    if !terminal.send(frame) {
        return Err(Problem::conflict("the shell of this terminal does not read; try again"));
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn close_terminal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    find(&daemon, &principal, &id)?;
    daemon.terminals().close(&principal.owner, &id);
    daemon.admin_audit().record(&principal, "terminal.close", id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The position of a client in the output of a terminal.
struct OutputStream {
    terminal: Arc<Terminal>,
    growth: watch::Receiver<u64>,
    seen: u64,
    over: bool,
    shutdown: CancellationToken,
    ping: Duration,
}

async fn stream_output(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let terminal = find(&daemon, &principal, &id)?;
    let seen = last_event_seq(headers.get(LAST_EVENT_ID), &terminal.id).unwrap_or(0);
    let output = OutputStream {
        growth: terminal.growth(),
        terminal,
        seen,
        over: false,
        shutdown: daemon.shutdown_token().clone(),
        ping: daemon.settings().ping_interval,
    };
    Ok(sse::response(stream::unfold(output, |mut output| async move {
        let text = output.next().await?;
        Some((text, output))
    })))
}

impl OutputStream {
    async fn next(&mut self) -> Option<String> {
        if self.over {
            return None;
        }
        loop {
            if let Some(shown) = self.terminal.after(self.seen) {
                return Some(self.frames(&shown));
            }
            tokio::select! {
                changed = self.growth.changed() => changed.ok()?,
                () = self.shutdown.cancelled() => return None,
                () = tokio::time::sleep(self.ping) => return Some(ping()),
            }
        }
    }

    fn frames(&mut self, shown: &OutputPart) -> String {
        self.seen = shown.end;
        let id = event_id(&self.terminal.id, shown.end);
        let mut text = String::new();
        if !shown.bytes.is_empty() || shown.cut {
            let data = json!({"data": BASE64_STANDARD.encode(&shown.bytes), "cut": shown.cut});
            text += &frame(&id, "output", &data.to_string());
        }
        if let Some(code) = shown.ended {
            self.over = true;
            text += &frame(&id, "end", &json!({"code": code}).to_string());
        }
        text
    }
}
