//! Agents: listing and writing their files, and showing each with the tools that its lists select.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_agent::library::{Folder, Scope};
use toolcrib_ops::OpError;
use toolcrib_ops::agents::{
    self, AddAgentRequest, AgentDetails, AgentFiles, AgentFormat, AgentReply, CheckAgentReply,
    CheckAgentRequest, PutAgentRequest, RemoveAgentRequest, ShowAgentRequest,
};
use toolcrib_ops::library::FileProblem;

use crate::api::{
    Api, Json, Operation, Path, etag, etag_matches, etag_response, expected_version, with_etag,
};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Agents, and the findings about broken files.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AgentList {
    /// The agents.
    items: Vec<AgentReply>,
    /// Files of agents that cannot be read, and why.
    problems: Vec<FileProblem>,
}

/// The file of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentText {
    /// The whole file: Markdown with front matter and the prompt as its body, or TOML
    /// (docs/agents.md).
    text: String,
    /// Format of the text; by default the present format, or `markdown` for a new one.
    #[serde(default)]
    form: Option<AgentFormat>,
}

/// A new text for the file of an agent, and changes to apply to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckAgent {
    /// The text.
    text: String,
    /// Format of the text; by default the format of the present file, or `markdown`.
    #[serde(default)]
    form: Option<AgentFormat>,
    /// New values of keys; absent keys keep their values.
    #[serde(default)]
    fields: Option<Map<String, Value>>,
    /// New prompt; absent = unchanged.
    #[serde(default)]
    prompt: Option<String>,
}

/// A new agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewAgent {
    /// Its name.
    name: String,
    /// The agent to copy; by default a template.
    #[serde(default)]
    from: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/agents", Role::Viewer, "Lists the agents.");
    api.add(
        list.returns_ok::<AgentList>("All agents, the General Assistant first.").etagged(),
        list_agents,
    );
    let show = Operation::get(
        "/agents/{name}",
        Role::Viewer,
        "Shows an agent with the tools that its patterns select.",
    );
    api.add(
        show.returns_ok::<AgentDetails>("The agent; its `ETag` is that of its file."),
        show_agent,
    );
    let add = Operation::post(
        "/agents",
        Role::Operator,
        "Creates an agent, from a template or as a copy of another.",
    );
    api.add(add.body::<NewAgent>().returns::<AgentDetails>(201, "It is there."), add_agent);
    let put = Operation::put("/agents/{name}", Role::Operator, "Writes the file of an agent.")
        .description("The daemon parses the file as a run would, and writes it only if it is valid. Replacing an existing agent needs `If-Match`.")
        .header("if-match", "The `ETag` of the version that the change applies to.");
    api.add(
        put.body::<AgentText>()
            .returns_ok::<AgentDetails>("The file is written.")
            .returns::<AgentDetails>(201, "It is new."),
        put_agent,
    );
    let check = Operation::post(
        "/agents/{name}/check",
        Role::Viewer,
        "Checks a text as the file of an agent, and changes single keys of it.",
    )
    .description("Each fault names its field. Comments, order and keys that are not changed stay. Nothing is written: `PUT /agents/{name}` does that.");
    api.add(
        check.body::<CheckAgent>().returns_ok::<CheckAgentReply>("The text with its faults."),
        check_agent,
    );
    let remove =
        Operation::delete("/agents/{name}", Role::Operator, "Removes the file of an agent.")
            .header("if-match", "The `ETag` of the version that is removed.");
    api.add(remove.returns_empty(204, "Removed."), remove_agent);
}

/// Returns the context of operations on agents; changed files belong to the user.
fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    changed: &'a (dyn Fn() + Sync),
) -> AgentFiles<'a> {
    AgentFiles {
        library: daemon.library_context(),
        folder: Folder { scope: Scope::User, path: daemon.host().agents_folder() },
        recorder: daemon.recorder(principal),
        changed,
    }
}

async fn list_agents(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Response {
    let reply = agents::list(&context(&daemon, &principal, &|| ()));
    etag_response(&headers, &AgentList { items: reply.agents, problems: reply.problems })
}

/// Responds with an agent and the tag of its file.
fn response(status: StatusCode, agent: AgentDetails) -> Response {
    let tag = agent.text.as_deref().map(etag);
    with_etag((status, Json(agent)).into_response(), tag)
}

async fn show_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let ctx = context(&daemon, &principal, &|| ());
    Ok(response(StatusCode::OK, agents::show(&ctx, &ShowAgentRequest { name })?))
}

async fn add_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<NewAgent>,
) -> Result<Response, Problem> {
    let request = AddAgentRequest { name: new.name, from: new.from };
    let changed = || drop(daemon.runner().reload());
    let added = agents::add(&context(&daemon, &principal, &changed), request).await;
    let agent = added.map_err(|error| match error {
        // The agent that does not exist is named in the body, not in the path.
        OpError::NotFound { .. } => Problem::invalid(Problem::from(error).detail),
        error => error.into(),
    })?;
    Ok(response(StatusCode::CREATED, agent))
}

async fn put_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
    Json(AgentText { text, form }): Json<AgentText>,
) -> Result<Response, Problem> {
    let matches = |text: &str| etag_matches(headers.get(header::IF_MATCH), &etag(text));
    let expected = expected_version(&headers, &matches);
    let request = PutAgentRequest { name, text, format: form, expected };
    let changed = || drop(daemon.runner().reload());
    let reply = agents::put(&context(&daemon, &principal, &changed), request).await?;
    let status = if reply.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(response(status, reply.agent))
}

async fn check_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(CheckAgent { text, form, fields, prompt }): Json<CheckAgent>,
) -> Result<Json<CheckAgentReply>, Problem> {
    let request = CheckAgentRequest { name, text, format: form, fields, prompt };
    Ok(Json(agents::check(&context(&daemon, &principal, &|| ()), request)?))
}

async fn remove_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let matches = |text: &str| etag_matches(headers.get(header::IF_MATCH), &etag(text));
    let request = RemoveAgentRequest { name, expected: expected_version(&headers, &matches) };
    let changed = || drop(daemon.runner().reload());
    agents::remove(&context(&daemon, &principal, &changed), request).await?;
    Ok(StatusCode::NO_CONTENT)
}
