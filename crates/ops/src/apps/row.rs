//! Apps and pairings in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::mcp::client::{ReviewedTools, ToolChange};
use toolcrib_core::{Risk, remote_name};
use toolcrib_devices::{App, AppClaim, AppStatus, Pairing, default_risk};

use crate::mcp_servers::McpHeldChange;

/// The risk of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RiskName {
    /// No approval is useful: the tool only reads.
    Safe,
    /// A person should approve a call.
    High,
    /// A person must approve a call.
    Critical,
}

/// A paired app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "App")]
pub struct AppReply {
    /// Its name.
    pub app: String,
    /// Its id, which stays when it is renamed.
    pub id: String,
    /// `connected` or `offline`.
    pub status: String,
    /// Where it listens.
    pub address: String,
    /// Fingerprint of its key.
    pub fingerprint: String,
    /// Its tools.
    pub tools: Vec<AppToolReply>,
    /// The types of its signals.
    pub signals: Vec<String>,
    /// Why it is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it was confirmed, milliseconds since 1970.
    pub paired_at: i64,
    /// Who confirmed it.
    pub paired_by: String,
}

/// A tool of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AppTool")]
pub struct AppToolReply {
    /// Its name in Toolcrib.
    pub id: String,
    /// Its name at the app.
    pub tool: String,
    /// The risk that the owner has chosen.
    pub risk: RiskName,
    /// How its definition differs from the reviewed one; it cannot be called then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<McpHeldChange>,
}

/// A pairing of the last day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Pairing")]
pub struct PairingReply {
    /// Its id.
    pub pairing: String,
    /// `open`, `claimed`, `confirmed`, `refused`, `burned` or `expired`.
    pub state: String,
    /// When the code was created, milliseconds since 1970.
    pub created_at: i64,
    /// When its present state ends, milliseconds since 1970.
    pub expires_at: i64,
    /// Who asked for the code.
    pub created_by: String,
    /// Number of wrong codes while it was open.
    pub wrong_codes: u32,
    /// The app that has used the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimedAppReply>,
}

/// An app that waits for the owner. Its texts are its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ClaimingApp")]
pub struct ClaimedAppReply {
    /// Its name.
    pub app: String,
    /// Where it listens.
    pub address: String,
    /// Fingerprint of its key: compare it with the one that the app shows.
    pub fingerprint: String,
    /// The tools that it offers.
    pub tools: Vec<CapabilityReply>,
    /// The types of its signals.
    pub signals: Vec<String>,
    /// When it used the code, milliseconds since 1970.
    pub claimed_at: i64,
}

/// A tool that an app offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AppCapability")]
pub struct CapabilityReply {
    /// Its name at the app.
    pub tool: String,
    /// Its name in Toolcrib.
    pub id: String,
    /// Its description, in the app's words.
    pub description: String,
    /// The risk that the app proposes.
    pub proposed: RiskName,
    /// The risk that it gets unless the owner chooses another.
    pub risk: RiskName,
    /// Parts of the definition that look like an attempt to steer the model.
    pub findings: Vec<String>,
}

impl From<Risk> for RiskName {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::Safe => Self::Safe,
            Risk::High => Self::High,
            Risk::Critical => Self::Critical,
        }
    }
}

impl From<RiskName> for Risk {
    fn from(risk: RiskName) -> Self {
        match risk {
            RiskName::Safe => Self::Safe,
            RiskName::High => Self::High,
            RiskName::Critical => Self::Critical,
        }
    }
}

impl RiskName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// Returns the name of an app's tool in Toolcrib.
pub(super) fn tool_id(app: &str, tool: &str) -> String {
    remote_name(&format!("if_{app}"), tool).as_str().to_owned()
}

impl From<App> for AppReply {
    fn from(app: App) -> Self {
        let held = app.held();
        let held_change =
            |tool: &str| held.iter().find(|held| held.tool == tool).map(|held| held.change.into());
        let row = |tool: &String, risk: Risk| AppToolReply {
            id: tool_id(&app.name, tool),
            tool: tool.clone(),
            risk: risk.into(),
            held: held_change(tool),
        };
        let mut tools: Vec<AppToolReply> =
            app.risks.iter().map(|(tool, risk)| row(tool, *risk)).collect();
        let new = held.iter().filter(|held| held.change == ToolChange::New);
        tools.extend(new.map(|held| row(&held.tool, Risk::High)));
        Self {
            status: match app.status() {
                AppStatus::Connected => "connected".to_owned(),
                AppStatus::Offline => "offline".to_owned(),
            },
            last_error: app.offline_reason().map(str::to_owned),
            tools,
            app: app.name,
            id: app.id,
            address: app.address,
            fingerprint: app.fingerprint,
            signals: app.signals,
            paired_at: app.paired_at,
            paired_by: app.paired_by,
        }
    }
}

impl PairingReply {
    pub(super) fn new(pairing: Pairing, now: i64) -> Self {
        Self {
            state: pairing.state(now).as_str().to_owned(),
            claim: pairing.claim.map(Into::into),
            pairing: pairing.id,
            created_at: pairing.created_at,
            expires_at: pairing.expires_at,
            created_by: pairing.created_by,
            wrong_codes: pairing.wrong,
        }
    }
}

impl From<AppClaim> for ClaimedAppReply {
    fn from(claim: AppClaim) -> Self {
        let offered = ReviewedTools::from_definitions(String::new(), &claim.capabilities);
        let mut findings = offered.findings();
        let tools = offered.tools.iter().map(|(tool, definition)| {
            let found = findings.remove(tool.as_str()).unwrap_or_default();
            let proposed = definition.get("risk").cloned().unwrap_or_default();
            let proposed: Risk = serde_json::from_value(proposed).unwrap_or_default();
            CapabilityReply {
                tool: tool.clone(),
                id: tool_id(&claim.name, tool),
                description: text(definition, "description"),
                proposed: proposed.into(),
                risk: default_risk(definition).into(),
                findings: found
                    .into_iter()
                    .map(|one| format!("{} in {}: {}", one.kind.text(), one.place, one.excerpt))
                    .collect(),
            }
        });
        Self {
            tools: tools.collect(),
            app: claim.name,
            address: claim.address,
            fingerprint: claim.fingerprint,
            signals: claim.signals,
            claimed_at: claim.claimed_at,
        }
    }
}

fn text(definition: &Value, key: &str) -> String {
    definition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
