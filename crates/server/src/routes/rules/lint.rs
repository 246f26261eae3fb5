//! What is wrong with rules.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Finding, Layer, RuleSet, RuleSource, Severity};

use super::body::RuleBody;
use crate::api::{Json, Page, run_cpu_bound};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Rules to check.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LintBody {
    /// Rules that are written nowhere yet; absent = those in force.
    rules: Option<Vec<RuleBody>>,
}

/// A finding about a rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct FindingRow {
    /// `error` (the rule would not be accepted) or `warning`.
    severity: String,
    /// Where the rule is written: `PATH:LINE`, or `rules:NUMBER` of the request.
    origin: String,
    /// The rule as it is written.
    rule: String,
    /// The finding, and the correct spelling.
    what: String,
}

pub(super) async fn lint_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<LintBody>,
) -> Result<Json<Page<FindingRow>>, Problem> {
    RuleBody::check_count(body.rules.as_deref().unwrap_or_default())?;
    let on = daemon.clone();
    let work = async move { Ok(findings(&on, body)) };
    Ok(Json(Page::single_page(run_cpu_bound(&daemon, &principal.client, work).await?)))
}

fn findings(daemon: &DaemonState, body: LintBody) -> Vec<FindingRow> {
    let toolcrib = daemon.toolcrib();
    let written = match body.rules {
        None => toolcrib.rules().sources().to_vec(),
        Some(rules) => {
            rules.into_iter().enumerate().map(|(at, rule)| unwritten(at, rule)).collect()
        }
    };
    let specs = toolcrib.infos().into_iter().filter_map(|info| toolcrib.spec(info.id.as_str()));
    let known: Vec<String> = specs
        .flat_map(|spec| std::iter::once(spec.name.to_string()).chain(spec.aliases.clone()))
        .collect();
    let anywhere = RuleSet::lint(&written);
    let findings = RuleSet::lint_for(&written, &known).into_iter().map(|finding| {
        // A tool that is not there may be there tomorrow: its rules are only warned of.
        let severity =
            if anywhere.contains(&finding) { finding.severity } else { Severity::Warning };
        finding_row(Finding { severity, ..finding })
    });
    findings.collect()
}

fn unwritten(at: usize, rule: RuleBody) -> RuleSource {
    RuleSource { text: rule.into(), layer: Layer::User, origin: format!("rules:{}", at + 1) }
}

fn finding_row(finding: Finding) -> FindingRow {
    let Finding { severity, origin, rule, what } = finding;
    let severity = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    FindingRow { severity: severity.to_owned(), origin, rule, what }
}
