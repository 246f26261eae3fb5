//! Requests of paired apps: signals and messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::Toolcrib;
use toolcrib_assistant::heartbeat::{Arrival, InboundKind};
use toolcrib_devices::{App, InboundRequest, NewSignal};

use crate::error::OpError;

/// The owner of all apps.
const OWNER: &str = "";
/// Characters of a message.
const MESSAGE_CHARS: usize = 8_000;

/// A signal of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSignal {
    /// Its type, one of those that the app named when it was paired.
    #[serde(rename = "type")]
    pub kind: String,
    /// What happens, at most 1,000 characters.
    pub content: String,
    /// What it is about, at most 100 characters.
    #[serde(default)]
    pub topic: Option<String>,
    /// Its strength, 0 to 1 (0.5). It halves every 6 hours.
    #[serde(default)]
    pub energy: Option<f64>,
}

/// Signals of an app: 1 to 50.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSignals")]
pub struct SignalsRequest {
    /// The signals.
    pub signals: Vec<AppSignal>,
}

/// What became of the signals of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SignalsAnswer")]
pub struct SignalsReply {
    /// Number of signals that were taken.
    pub accepted: usize,
    /// Those that were not.
    pub rejected: Vec<RejectedSignal>,
}

/// A signal that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedSignal {
    /// Its position in the request, from 0.
    pub index: usize,
    /// Why.
    pub error: String,
}

/// A message of an app to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAppMessage")]
pub struct AppMessageRequest {
    /// Its text.
    pub text: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
}

/// A message that the next heartbeat looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AppMessageAnswer")]
pub struct AppMessageReply {
    /// When it arrived, milliseconds since 1970.
    pub arrived_at: i64,
}

/// Returns the app that sent a request.
///
/// # Errors
/// [`OpError::Unauthorized`], [`OpError::Denied`] before the owner has confirmed the pairing,
/// [`OpError::Vault`], [`OpError::Store`].
pub async fn authenticate(
    toolcrib: &Toolcrib,
    app: &str,
    request: InboundRequest<'_>,
) -> Result<App, OpError> {
    Ok(toolcrib.apps().authenticate(app, request).await?)
}

/// Takes signals, each on its own.
///
/// # Errors
/// [`OpError::Invalid`]; [`OpError::Denied`] if the only signal has a type that the app did not
/// name when it was paired.
pub fn send_signals(toolcrib: &Toolcrib, app: &App, body: &[u8]) -> Result<SignalsReply, OpError> {
    let body: SignalsRequest = parse(body)?;
    let unnamed = body.signals.iter().filter(|one| !app.signals.contains(&one.kind)).count();
    let is_denied = body.signals.len() == 1 && unnamed == 1;
    let new = body.signals.into_iter().map(|one| NewSignal {
        kind: one.kind,
        content: one.content,
        topic: one.topic,
        energy: one.energy,
    });
    let outcome = toolcrib.apps().add_signals(app, new.collect())?;
    if let (true, Some((_, why))) = (is_denied, outcome.rejected.first()) {
        return Err(OpError::Denied(why.clone()));
    }
    let rejected = outcome.rejected.into_iter();
    Ok(SignalsReply {
        accepted: outcome.accepted,
        rejected: rejected.map(|(index, error)| RejectedSignal { index, error }).collect(),
    })
}

/// Hands a message to the next heartbeat, as text from outside.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Store`].
pub async fn send_message(
    toolcrib: &Toolcrib,
    app: &App,
    body: &[u8],
) -> Result<AppMessageReply, OpError> {
    let AppMessageRequest { text, title } = parse(body)?;
    if text.trim().is_empty() || text.chars().count() > MESSAGE_CHARS {
        return Err(OpError::Invalid(format!("`text` has 1 to {MESSAGE_CHARS} characters")));
    }
    let arrival = Arrival::new(&format!("app {}", app.name), &title, &text);
    let arrivals = toolcrib.heartbeats().arrivals();
    let arrival = arrivals.add(OWNER, InboundKind::Notification, arrival).await?;
    Ok(AppMessageReply { arrived_at: arrival.at })
}

fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, OpError> {
    serde_json::from_slice(body)
        .map_err(|error| OpError::Invalid(format!("the request is not valid: {error}")))
}
