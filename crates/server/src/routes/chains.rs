//! Scripts that are kept as tools: listed, shown, kept, removed. What is changed can be called at
//! once.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use toolcrib_app::{ChainEntry, ToolFolder};
use toolcrib_code_mode::ChainError;

use crate::api::{Api, Json, Operation, Page, Path, etag, etag_matches, etag_response};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A script in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChainRow {
    /// Its name, which is that of its tool.
    name: String,
    /// Its description.
    description: Option<String>,
    /// Why it is no tool, if it is none.
    problem: Option<String>,
    /// The folder that has it: `own`, `workspace`, or one that was named.
    folder: String,
    /// Whether a person is asked before it runs, because its author is unknown.
    asked_about: bool,
}

/// A script, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChainDetails {
    /// The script.
    #[serde(flatten)]
    chain: ChainRow,
    /// Its text.
    code: String,
}

/// A script to keep.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChainText {
    /// Its text. Its first lines have its description (`# description: ...`), its parameters (`#
    /// parameters: {...}`, `# required: [...]`) and its level (`# level: expression|full|auto`).
    code: String,
}

pub(super) fn routes(api: &mut Api) {
    let list =
        Operation::get("/chains", Role::Viewer, "Lists the scripts that are saved as tools.");
    api.add(list.returns_ok::<Page<ChainRow>>("All of them.").etagged(), list_chains);
    let show = Operation::get("/chains/{name}", Role::Viewer, "Shows a script with its text.");
    api.add(
        show.returns_ok::<ChainDetails>("The script; its `ETag` is that of its text."),
        show_chain,
    );
    let put = Operation::put("/chains/{name}", Role::Operator, "Saves a script as a tool.")
        .description("The script is written into the tool folder of the workspace and can be called at once. Replacing an existing script needs `If-Match`.")
        .header("if-match", "The `ETag` of the version that the change applies to.");
    api.add(
        put.body::<ChainText>()
            .returns_ok::<ChainDetails>("The script is saved.")
            .returns::<ChainDetails>(201, "It is new."),
        put_chain,
    );
    let remove = Operation::delete("/chains/{name}", Role::Operator, "Removes a script.")
        .description("It needs `If-Match`.")
        .header("if-match", "The `ETag` of the version that is removed.");
    api.add(remove.returns_empty(204, "It is removed."), remove_chain);
}

fn row(chain: &ChainEntry) -> ChainRow {
    let kept = chain.kept.clone();
    ChainRow {
        name: kept.name,
        description: kept.description.clone().ok(),
        problem: kept.description.err(),
        folder: chain.folder.clone(),
        asked_about: chain.is_untrusted,
    }
}

/// Held while a script is looked at and changed: of two who change what both have read, one is
/// told.
static WRITE_LOCK: Mutex<()> = Mutex::const_new(());

/// What is found out from the files of scripts, on no thread that answers others.
async fn run_blocking<T: Send + 'static>(
    daemon: &DaemonState,
    look: impl FnOnce(&DaemonState) -> T + Send + 'static,
) -> Result<T, Problem> {
    let daemon = daemon.clone();
    let looked = tokio::task::spawn_blocking(move || look(&daemon)).await;
    looked.map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

async fn list_chains(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let chains = run_blocking(&daemon, |daemon| daemon.toolcrib().saved_chains()).await?;
    Ok(etag_response(&headers, &Page::single_page(chains.iter().map(row).collect())))
}

/// A script and its text, if it is there.
async fn load(daemon: &DaemonState, name: &str) -> Result<Option<(ChainEntry, String)>, Problem> {
    let named = name.to_owned();
    let found = run_blocking(daemon, move |daemon| {
        let chain =
            daemon.toolcrib().saved_chains().into_iter().find(|chain| chain.kept.name == named);
        chain.map(|chain| chain.kept.text().map(|code| (chain, code)))
    });
    let read = found.await?.transpose();
    read.map_err(|error| Problem::conflict(format!("the script {name} cannot be read: {error}")))
}

async fn find(daemon: &DaemonState, name: &str) -> Result<(ChainEntry, String), Problem> {
    let found = load(daemon, name).await?;
    found.ok_or_else(|| Problem::not_found(format!("there is no script {name}")))
}

async fn chain_details(
    daemon: &DaemonState,
    name: &str,
    status: StatusCode,
) -> Result<Response, Problem> {
    let (chain, code) = find(daemon, name).await?;
    let tag = HeaderValue::from_str(&etag(&code));
    let mut response = (status, Json(ChainDetails { chain: row(&chain), code })).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

async fn show_chain(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    chain_details(&daemon, &name, StatusCode::OK).await
}

/// Whether a script that is there may be changed: what was seen of it is still there, and it is in
/// this folder.
fn check(
    headers: &HeaderMap,
    of: &ToolFolder,
    chain: &ChainEntry,
    code: &str,
) -> Result<(), Problem> {
    let name = &chain.kept.name;
    match headers.get(header::IF_MATCH) {
        None => Err(Problem::new(
            Code::NeedsMatch,
            format!("the script {name} is there: send the ETag of what you have read as If-Match"),
        )),
        given if !etag_matches(given, &etag(code)) => Err(Problem::new(
            Code::Stale,
            format!("the script {name} is not what you have read any more; read it again"),
        )),
        _ if chain.folder != of.id => Err(Problem::conflict(format!(
            "the script {name} is in the folder {}, which is not written here",
            chain.folder
        ))),
        _ => Ok(()),
    }
}

/// The folder that is written.
fn user_folder(daemon: &DaemonState) -> Result<ToolFolder, Problem> {
    let folder = daemon.toolcrib().saved_chain_folder();
    folder.ok_or_else(|| Problem::conflict("this daemon has no folder for tools"))
}

async fn put_chain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
    Json(ChainText { code }): Json<ChainText>,
) -> Result<Response, Problem> {
    let folder = user_folder(&daemon)?;
    let _alone = WRITE_LOCK.lock().await;
    let there = load(&daemon, &name).await?;
    if let Some((chain, text)) = &there {
        check(&headers, &folder, chain, text)?;
    }
    let saved = daemon.toolcrib().save_chain(&folder.path, &name, &code).await;
    saved.map_err(|error| problem(&error))?;
    daemon.admin_audit().record(&principal, "chain.put", &name).await?;
    let status = if there.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    chain_details(&daemon, &name, status).await
}

async fn remove_chain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let folder = user_folder(&daemon)?;
    let _alone = WRITE_LOCK.lock().await;
    let (chain, code) = find(&daemon, &name).await?;
    check(&headers, &folder, &chain, &code)?;
    let removed = daemon.toolcrib().remove_chain(&folder.path, &name).await;
    removed.map_err(|error| problem(&error))?;
    daemon.admin_audit().record(&principal, "chain.remove", &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn problem(error: &ChainError) -> Problem {
    match error {
        ChainError::Missing(_) => Problem::not_found(error.to_string()),
        ChainError::File { .. } => {
            tracing::error!(%error, "the file of a script cannot be used");
            Problem::new(Code::Internal, error.to_string())
        }
        _ => Problem::invalid(error.to_string()),
    }
}
