//! Agents: files that are listed, shown with what their lists of tools come to, and written.

mod files;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::agent::library::{Agent, AgentPreset, Rounds, expand_tool_list};
use toolcrib_app::core::ViewRequest;

use crate::api::{Api, Json, Operation, Path, etag, etag_response};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// An agent in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct AgentRow {
    /// Its name.
    name: String,
    /// Name for people.
    title: String,
    /// What it is for.
    description: String,
    /// Its model as `provider/model`; `null` = the configured one.
    model: Option<String>,
    /// Its list of tools as it is written; `null` = all.
    tools: Option<Vec<String>>,
    /// Skills that are active from the start.
    skills: Vec<String>,
    /// Its role.
    role: String,
    /// What runs without asking; `null` = as configured.
    mode: Option<String>,
    /// Temperature, 0 to 2.
    temperature: Option<f64>,
    /// Most tokens of one answer.
    max_output: Option<u64>,
    /// What a run may use: `rounds`, `calls`, `tokens`, `time` in seconds, `cost` in US dollars.
    limits: Value,
    /// Where it comes from: `built in`, or its file.
    place: String,
    /// Whether it can be written and removed here.
    writable: bool,
}

/// Agents with what is wrong with others.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AgentList {
    /// The agents.
    items: Vec<AgentRow>,
    /// Files of agents that cannot be read, and why.
    problems: Vec<FileProblem>,
}

/// What is wrong with a file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct FileProblem {
    /// The file.
    path: String,
    /// What is wrong.
    message: String,
}

impl FileProblem {
    pub(super) fn of(problem: &toolcrib_app::agent::library::Problem) -> Self {
        Self { path: problem.path.display().to_string(), message: problem.message.clone() }
    }
}

/// An agent, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AgentDetails {
    /// The agent.
    #[serde(flatten)]
    agent: AgentRow,
    /// Its part of the system prompt.
    prompt: String,
    /// The text of its file; `null` = it is built in.
    text: Option<String>,
    /// The tools that its list comes to.
    resolved: Vec<String>,
    /// Of these, those that it is offered now.
    offered: Vec<String>,
    /// The others, with the reason.
    excluded: Vec<ExcludedTool>,
}

/// A tool that an agent is not offered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExcludedTool {
    /// The tool.
    tool: String,
    /// Why.
    reason: String,
}

/// The file of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentText {
    /// All of it: Markdown with the keys in front and the prompt as its body, or TOML
    /// (docs/agents.md).
    text: String,
    /// How it is written; default as it is now, or `markdown` for a new one.
    #[serde(default)]
    form: Option<Form>,
}

/// How the file of an agent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// `NAME.md`.
    Markdown,
    /// `NAME.toml`.
    Toml,
}

/// A new agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewAgent {
    /// Its name.
    name: String,
    /// The agent that it is a copy of; default a template.
    #[serde(default)]
    from: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/agents", Role::Viewer, "Lists the agents.");
    api.add(
        list.returns_ok::<AgentList>("All of them, the General Assistant first.").etagged(),
        list_agents,
    );
    let show = Operation::get(
        "/agents/{name}",
        Role::Viewer,
        "Shows an agent with what its tools come to.",
    );
    api.add(
        show.returns_ok::<AgentDetails>("The agent; its `ETag` is that of its file."),
        show_agent,
    );
    let add = Operation::post(
        "/agents",
        Role::Operator,
        "Makes an agent, from a template or as a copy of another.",
    );
    api.add(add.body::<NewAgent>().returns::<AgentDetails>(201, "It is there."), add_agent);
    let put = Operation::put("/agents/{name}", Role::Operator, "Writes the file of an agent.")
        .description("It is read as a run would read it first, and put in its place only when nothing is wrong with it. An agent that is there needs `If-Match`.")
        .header("if-match", "The `ETag` of what is changed.");
    api.add(
        put.body::<AgentText>()
            .returns_ok::<AgentDetails>("It is written.")
            .returns::<AgentDetails>(201, "It is new."),
        put_agent,
    );
    let remove =
        Operation::delete("/agents/{name}", Role::Operator, "Removes the file of an agent.")
            .header("if-match", "The `ETag` of what is removed.");
    api.add(remove.returns_empty(204, "It is gone."), remove_agent);
}

fn row(daemon: &DaemonState, agent: &Agent) -> AgentRow {
    let limits = &agent.limits;
    let rounds = limits.rounds.map(|rounds| match rounds {
        Rounds::AtMost(rounds) => json!(rounds),
        Rounds::Unlimited => json!("unlimited"),
    });
    AgentRow {
        name: agent.name.clone(),
        title: agent.title.clone(),
        description: agent.description.clone(),
        model: agent.model.as_ref().map(ToString::to_string),
        tools: agent.tools.clone(),
        skills: agent.skills.clone(),
        role: agent.role.clone(),
        mode: agent.preset.map(AgentPreset::as_str).map(str::to_owned),
        temperature: agent.temperature,
        max_output: agent.max_output,
        limits: json!({
            "rounds": rounds,
            "calls": limits.calls,
            "tokens": limits.tokens,
            "time": limits.time.map(|time| time.as_secs()),
            "cost": limits.cost,
        }),
        place: agent.location.to_string(),
        writable: files::is_user_file(daemon, agent),
    }
}

async fn list_agents(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let library = daemon.runner().library();
    let items = library.agents.iter().map(|agent| row(&daemon, agent)).collect();
    let of_agents = |problem: &&toolcrib_app::agent::library::Problem| {
        problem.path.starts_with(daemon.host().agents_folder())
            || problem.path.parent().is_some_and(|folder| folder.ends_with("agents"))
    };
    let problems = library.problems.iter().filter(of_agents).map(FileProblem::of).collect();
    etag_response(&headers, &AgentList { items, problems })
}

/// An agent with the tag of its file.
fn agent_details(
    daemon: &DaemonState,
    name: &str,
    status: StatusCode,
) -> Result<Response, Problem> {
    let library = daemon.runner().library();
    let agent = library.agent(name).map_err(|error| Problem::not_found(error.to_string()))?;
    let text = files::text_of(agent)?;
    let resolved = expand_tool_list(agent.tools.as_deref(), &daemon.runner().tool_names()).tools;
    let request = ViewRequest {
        role: agent.role.clone(),
        agent: agent.tools.clone(),
        ..ViewRequest::default()
    };
    let view = daemon.toolcrib().catalog().view(&std::sync::Arc::new(request));
    let offered = view.tools.iter().map(|entry| entry.spec().name.to_string()).collect();
    let excluded = view
        .excluded
        .iter()
        .filter(|excluded| resolved.iter().any(|tool| tool == excluded.name.as_str()))
        .map(|excluded| ExcludedTool {
            tool: excluded.name.to_string(),
            reason: excluded.reason.to_string(),
        })
        .collect();
    let tag = text.as_deref().map(etag);
    let shown = AgentDetails {
        agent: row(daemon, agent),
        prompt: agent.prompt.clone(),
        text,
        resolved,
        offered,
        excluded,
    };
    let mut response = (status, Json(shown)).into_response();
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

async fn show_agent(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    agent_details(&daemon, &name, StatusCode::OK)
}

async fn add_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<NewAgent>,
) -> Result<Response, Problem> {
    let NewAgent { name, from } = new;
    let template = toolcrib_app::agent::library::agent_template(&name).map_err(Problem::invalid)?;
    let library = daemon.runner().library();
    let text = match &from {
        None => template,
        Some(from) => {
            let agent = library.agent(from).map_err(|error| Problem::invalid(error.to_string()))?;
            files::to_markdown(agent)
        }
    };
    files::write(&daemon, &name, &text, None, files::ExpectedVersion::Nothing)?;
    daemon.admin_audit().record(&principal, "agent.add", &name).await?;
    agent_details(&daemon, &name, StatusCode::CREATED)
}

async fn put_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
    Json(AgentText { text, form }): Json<AgentText>,
) -> Result<Response, Problem> {
    let expected = files::ExpectedVersion::from_headers(&headers);
    let is_new = files::write(&daemon, &name, &text, form, expected)?;
    daemon.admin_audit().record(&principal, "agent.put", &name).await?;
    agent_details(&daemon, &name, if is_new { StatusCode::CREATED } else { StatusCode::OK })
}

async fn remove_agent(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    files::remove(&daemon, &name, files::ExpectedVersion::from_headers(&headers))?;
    daemon.admin_audit().record(&principal, "agent.remove", &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a name that names nothing is answered with.
pub(super) fn unknown(error: &impl std::fmt::Display) -> Problem {
    Problem::new(Code::NotFound, error.to_string())
}
