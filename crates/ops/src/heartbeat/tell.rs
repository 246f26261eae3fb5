//! Hands a message or notification of another program to the heartbeat.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::heartbeat::{Arrival, InboundKind};

use crate::context::OpContext;
use crate::error::OpError;

/// What arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalKind {
    /// A short message of a person, such as an SMS.
    Message,
    /// A notification of another program.
    #[default]
    Notification,
}

impl FromStr for ArrivalKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "message" => Ok(Self::Message),
            "notification" => Ok(Self::Notification),
            _ => Err(format!("`{text}` is not message or notification")),
        }
    }
}

/// A message or notification for the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewArrival")]
pub struct TellHeartbeatRequest {
    /// `message` or `notification` (the default).
    #[serde(default)]
    pub kind: ArrivalKind,
    /// The person or program that it is from.
    pub from: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its text; the heartbeat shows the first 500 characters.
    pub text: String,
}

/// A message or notification that the next heartbeat looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Arrival")]
pub struct ArrivalReply {
    /// `message` or `notification`.
    pub kind: ArrivalKind,
    /// The person or program that it is from.
    pub from: String,
    /// When it arrived, milliseconds since 1970.
    pub arrived_at: i64,
}

/// Stores it for the next heartbeat, as text from outside.
///
/// # Errors
/// [`OpError::Invalid`] without a sender or a text, [`OpError::Store`].
pub async fn tell(
    ctx: &OpContext<'_>,
    request: TellHeartbeatRequest,
) -> Result<ArrivalReply, OpError> {
    let TellHeartbeatRequest { kind, from, title, text } = request;
    if from.trim().is_empty() || text.trim().is_empty() {
        return Err(OpError::Invalid("The sender or the text is empty.".to_owned()));
    }
    let inbound = match kind {
        ArrivalKind::Message => InboundKind::Message,
        ArrivalKind::Notification => InboundKind::Notification,
    };
    let arrivals = ctx.toolcrib.heartbeats().arrivals();
    let arrival = Arrival::new(&from, &title, &text);
    let arrival = arrivals.add(ctx.store.owner, inbound, arrival).await?;
    Ok(ArrivalReply { kind, from: arrival.from, arrived_at: arrival.at })
}
