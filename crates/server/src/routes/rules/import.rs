//! Previews the rules that an import from another program would add.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::{ImportFormat, RuleFile};
use toolcrib_app::rules::Layer;
use toolcrib_ops::rules::{self, ImportRulesReply, ImportRulesRequest};

use crate::api::{Json, run_blocking};
use crate::problem::Problem;
use crate::state::DaemonState;

/// A text with rules of another program.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportRulesBody {
    /// The text.
    text: String,
    /// Name of the file that it comes from, such as `settings.json`.
    name: String,
    /// The program: `claude` or `codex`; by default, the file name determines it.
    #[serde(default)]
    format: Option<String>,
    /// Whether to also import rules that allow more than they seem to, marked as `unsafe`.
    #[serde(default)]
    anyway: bool,
}

pub(super) async fn import_rules(
    State(daemon): State<DaemonState>,
    Json(body): Json<ImportRulesBody>,
) -> Result<Json<ImportRulesReply>, Problem> {
    let ImportRulesBody { text, name, format, anyway } = body;
    let format = format.map(|format| format.parse::<ImportFormat>()).transpose();
    let request = ImportRulesRequest {
        place: RuleFile::new(Layer::User, daemon.host().rules_file()),
        text,
        name,
        format: format.map_err(Problem::invalid)?,
        anyway,
    };
    run_blocking::<_, Problem>(move || Ok(Json(rules::import(&request)?))).await
}
