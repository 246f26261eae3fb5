//! The heartbeat: looking at it, running it now, and handing it what arrived.

use axum::extract::State;
use toolcrib_ops::heartbeat::{self, ArrivalReply, HeartbeatReply, TellHeartbeatRequest};

use crate::api::{Api, Json, Operation};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/heartbeat", Role::Viewer, "Shows the heartbeat and its last runs.");
    let show = show.description("The section `heartbeat` of the configuration sets whether, how often and in which hours it runs.");
    api.add(show.returns_ok::<HeartbeatReply>("The heartbeat."), show_heartbeat);
    let run = Operation::post("/heartbeat/run", Role::Operator, "Runs the heartbeat now.");
    let run = run.description("It also runs outside of its hours.");
    api.add(run.returns_ok::<HeartbeatReply>("It starts within a second."), run_heartbeat);
    let tell = Operation::post(
        "/heartbeat/arrivals",
        Role::Operator,
        "Hands a message or notification of another program to the heartbeat.",
    );
    let tell = tell.description("The next heartbeat shows it to the model, as text from outside. The newest 100 of each kind are kept.");
    api.add(
        tell.body::<TellHeartbeatRequest>().returns_ok::<ArrivalReply>("It is stored."),
        tell_heartbeat,
    );
}

async fn show_heartbeat(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<HeartbeatReply>, Problem> {
    Ok(Json(heartbeat::show(&daemon.op_context(&principal, None)).await?))
}

async fn run_heartbeat(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<HeartbeatReply>, Problem> {
    Ok(Json(heartbeat::run(&daemon.op_context(&principal, None)).await?))
}

async fn tell_heartbeat(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<TellHeartbeatRequest>,
) -> Result<Json<ArrivalReply>, Problem> {
    Ok(Json(heartbeat::tell(&daemon.op_context(&principal, None), new).await?))
}
