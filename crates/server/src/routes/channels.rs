//! Chat channels on which the assistant answers.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_channels::account::NewChannel;
use toolcrib_channels::{ChannelError, ChannelKind};
use toolcrib_ops::OpError;
use toolcrib_ops::channels::{
    self, AddChannelRequest, AllowPersonRequest, ChannelDetails, ChannelLogLine, ChannelReply,
    SetChannelRequest,
};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A new channel.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewChannelBody {
    /// `telegram` or `matrix`.
    kind: String,
    /// Its name; default the service.
    #[serde(default)]
    channel: Option<String>,
    /// Address of the service; required for Matrix.
    #[serde(default)]
    base_url: Option<String>,
    /// Its token at the service, which is stored in the vault.
    token: String,
    /// Ids of the people who may write to it.
    #[serde(default)]
    allow: Vec<String>,
    /// Id of the owner, whose messages are not text from outside.
    #[serde(default)]
    owner: Option<String>,
    /// The agent that answers; default the configured one.
    #[serde(default)]
    agent: Option<String>,
    /// Whether the people on its list may decide approvals of their own conversation.
    #[serde(default)]
    may_approve: bool,
}

/// Changes of a channel; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ChannelChange {
    /// Whether it receives and answers.
    enabled: Option<bool>,
    /// Whether the people on its list may decide approvals of their own conversation.
    may_approve: Option<bool>,
    /// The agent that answers; an empty text selects the configured one.
    agent: Option<String>,
}

/// A person to put on the list.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AllowBody {
    /// Whether the person is the owner, whose messages are not text from outside.
    owner: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/channels", Role::Viewer, "Lists chat channels.");
    api.add(list.returns_ok::<Page<ChannelReply>>("The channels.").etagged(), list_channels);
    let add = Operation::post("/channels", Role::Owner, "Adds a chat channel.");
    let add = add.description(
        "The service is asked who the token belongs to; nothing is saved if it refuses the token.",
    );
    api.add(add.body::<NewChannelBody>().returns_ok::<ChannelReply>("The channel."), add_channel);
    let show = Operation::get("/channels/{name}", Role::Owner, "Shows a channel and its people.");
    api.add(show.returns_ok::<ChannelDetails>("The channel."), show_channel);
    let change = Operation::put("/channels/{name}", Role::Owner, "Changes a channel.");
    api.add(
        change.body::<ChannelChange>().returns_ok::<ChannelReply>("The channel."),
        change_channel,
    );
    let test = Operation::post("/channels/{name}/test", Role::Owner, "Tests a channel's token.");
    api.add(test.returns_ok::<ChannelReply>("The service accepts it."), test_channel);
    let log = Operation::get("/channels/{name}/log", Role::Owner, "Lists a channel's last events.");
    api.add(log.returns_ok::<Page<ChannelLogLine>>("The last 50 events, newest first."), log_of);
    let allow =
        Operation::put("/channels/{name}/people/{user}", Role::Owner, "Allows a person to write.");
    api.add(allow.body::<AllowBody>().returns_ok::<ChannelReply>("The channel."), allow_person);
    let disallow = Operation::delete(
        "/channels/{name}/people/{user}",
        Role::Owner,
        "Takes a person from the list of a channel.",
    );
    api.add(disallow.returns_ok::<ChannelReply>("The channel."), disallow_person);
    let remove = Operation::delete("/channels/{name}", Role::Owner, "Removes a channel.");
    let remove =
        remove.description("Its token and its state are removed with it; conversations stay.");
    api.add(remove.returns_empty(204, "Removed."), remove_channel);
}

async fn list_channels(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = channels::list(&daemon.op_context(&principal, None))?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn add_channel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<NewChannelBody>,
) -> Result<Json<ChannelReply>, Problem> {
    let NewChannelBody { kind, channel, base_url, token, allow, owner, agent, may_approve } = new;
    let kind: ChannelKind = kind.parse().map_err(|error: ChannelError| OpError::from(error))?;
    let channel = NewChannel { kind, id: channel, base_url, allow, owner, agent, may_approve };
    let request = AddChannelRequest { channel, token };
    Ok(Json(channels::add(&daemon.op_context(&principal, None), request).await?))
}

async fn show_channel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<ChannelDetails>, Problem> {
    Ok(Json(channels::show(&daemon.op_context(&principal, None), &name).await?))
}

async fn change_channel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(channel): Path<String>,
    Json(change): Json<ChannelChange>,
) -> Result<Json<ChannelReply>, Problem> {
    let ChannelChange { enabled, may_approve, agent } = change;
    let request = SetChannelRequest { channel, enabled, may_approve, agent };
    Ok(Json(channels::set(&daemon.op_context(&principal, None), request).await?))
}

async fn test_channel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<ChannelReply>, Problem> {
    Ok(Json(channels::test(&daemon.op_context(&principal, None), &name).await?))
}

async fn log_of(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<Page<ChannelLogLine>>, Problem> {
    let lines = channels::log(&daemon.op_context(&principal, None), &name).await?;
    Ok(Json(Page::single_page(lines)))
}

async fn allow_person(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path((channel, user)): Path<(String, String)>,
    Json(AllowBody { owner }): Json<AllowBody>,
) -> Result<Json<ChannelReply>, Problem> {
    let request = AllowPersonRequest { channel, user, owner, remove: false };
    Ok(Json(channels::allow(&daemon.op_context(&principal, None), request).await?))
}

async fn disallow_person(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path((channel, user)): Path<(String, String)>,
) -> Result<Json<ChannelReply>, Problem> {
    let request = AllowPersonRequest { channel, user, owner: false, remove: true };
    Ok(Json(channels::allow(&daemon.op_context(&principal, None), request).await?))
}

async fn remove_channel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    channels::remove(&daemon.op_context(&principal, None), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
