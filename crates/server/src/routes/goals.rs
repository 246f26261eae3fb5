//! Goals: starting, reading and closing them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::goals::{
    self, ChangeGoalRequest, GoalChange, GoalReply, ListGoalsRequest, ShowGoalRequest,
    StartGoalRequest,
};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::routes::surroundings::{PersonSurroundings, accept_language};
use crate::state::DaemonState;

/// A goal to start.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewGoalBody {
    /// The objective, in words that can be understood without context.
    goal: String,
    /// The agent of its run; default the configured one.
    #[serde(default)]
    agent: Option<String>,
    /// Maximum number of rounds of its run, 1 to 100; default 40.
    #[serde(default)]
    rounds: Option<u32>,
    /// Maximum number of tokens of its run; default 500,000.
    #[serde(default)]
    tokens: Option<u64>,
    /// Information from the client about the person, for its run; without a locale,
    /// `Accept-Language` applies.
    #[serde(default)]
    surroundings: PersonSurroundings,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/goals", Role::Viewer, "Lists goals, newest first.");
    api.add(list.returns_ok::<Page<GoalReply>>("Your goals.").etagged(), list_goals);
    let start = Operation::post("/goals", Role::Operator, "Starts a goal.");
    let start = start.description("A run pursues it in the background, in the channel `background`. `/runs/{run}/events` shows its progress, `/runs/{run}/steer` sends it a message.");
    api.add(start.body::<NewGoalBody>().returns_ok::<GoalReply>("The goal."), start_goal);
    let show = Operation::get("/goals/{goal}", Role::Viewer, "Shows a goal with its result.");
    api.add(show.returns_ok::<GoalReply>("The goal."), show_goal);
    let close = Operation::delete("/goals/{goal}", Role::Operator, "Cancels a goal.");
    api.add(close.returns_ok::<GoalReply>("Its run stops within a second."), close_goal);
    let resume = Operation::post("/goals/{goal}/resume", Role::Operator, "Starts a waiting goal.");
    let resume = resume
        .description("Letting a goal begin whose text came from outside vouches for that text.");
    api.add(resume.returns_ok::<GoalReply>("It starts within a second."), resume_goal);
}

async fn list_goals(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = goals::list(&daemon.op_context(&principal, None), ListGoalsRequest).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn start_goal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Json(body): Json<NewGoalBody>,
) -> Result<Json<GoalReply>, Problem> {
    let NewGoalBody { goal, agent, rounds, tokens, surroundings } = body;
    let surroundings = surroundings.checked(accept_language(&headers))?;
    let request = StartGoalRequest { text: goal, agent, rounds, tokens, surroundings };
    Ok(Json(goals::start(&daemon.op_context(&principal, None), request).await?))
}

async fn show_goal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(goal): Path<String>,
) -> Result<Json<GoalReply>, Problem> {
    Ok(Json(goals::show(&daemon.op_context(&principal, None), ShowGoalRequest { goal }).await?))
}

async fn close_goal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(goal): Path<String>,
) -> Result<Json<GoalReply>, Problem> {
    let request = ChangeGoalRequest { goal, change: GoalChange::Close };
    Ok(Json(goals::change(&daemon.op_context(&principal, None), request).await?))
}

async fn resume_goal(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(goal): Path<String>,
) -> Result<Json<GoalReply>, Problem> {
    let request = ChangeGoalRequest { goal, change: GoalChange::Resume };
    Ok(Json(goals::change(&daemon.op_context(&principal, None), request).await?))
}
