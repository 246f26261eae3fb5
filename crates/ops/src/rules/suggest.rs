//! Suggests rules from repeated approvals: each allows exactly the calls that a person approved.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::rules::{Layer, RuleSet, RuleSource, RuleText};
use toolcrib_core::{ApprovalId, CallFilter, Clock as _, ErrorType, SystemClock, Verdict};

use super::past_call::PastCall;
use super::replay::SCAN_LIMIT;
use crate::context::OpContext;
use crate::error::OpError;

/// Minimum number of approvals of the same call for a suggestion: more than twice.
pub const APPROVALS: usize = 3;
/// Number of days to look back.
pub const DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const SHELL_TOOL: &str = "execute_shell_command";

/// File tools for which the path describes what a person approves. Others (deleting, moving,
/// copying) have arguments that change the effect on the path, so a rule on the path would allow
/// more.
const PATH_OPERATIONS: [&str; 8] = [
    "diff_editor",
    "edit_file",
    "file_info",
    "list_dir",
    "make_dir",
    "pdf_read",
    "read_file",
    "write_file",
];

/// A rule that would have covered repeated approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestion {
    /// The allow rule.
    pub rule: String,
    /// The workspace folder that it applies to; absent if the calls had none.
    pub workspace: Option<String>,
    /// The agent that it applies to; absent if no agent made the calls.
    pub agent: Option<String>,
    /// Number of approvals in the last 30 days that it would have covered.
    pub approvals: usize,
    /// Time of the last of these calls, in milliseconds since 1970.
    pub last_at: i64,
    /// Number of all past calls that it would have allowed, among the newest 1,000.
    pub past_calls: usize,
}

impl RuleSuggestion {
    /// Returns the rule in the format of a file.
    #[must_use]
    pub fn text(&self) -> RuleText {
        RuleText {
            agents: self.agent.iter().cloned().collect(),
            workspaces: self.workspace.iter().cloned().collect(),
            ..RuleText::new(Verdict::Allow, self.rule.clone())
        }
    }
}

/// Suggests rules for calls that a person approved at least [`APPROVALS`] times in the last
/// [`DAYS`] days, the most frequent first. Each is checked against the engine: it passes the lint,
/// allows these calls together with the rules in force, and allows neither a changed call nor one
/// that a person denied. Calls without such a rule are omitted.
///
/// # Errors
/// [`OpError::Store`] if the history cannot be read.
pub async fn suggest(
    ctx: &OpContext<'_>,
    current: &RuleSet,
) -> Result<Vec<RuleSuggestion>, OpError> {
    let filter = CallFilter {
        owner: ctx.store.owner.to_owned(),
        since: Some(SystemClock.now_ms() - DAYS * DAY_MS),
        limit: SCAN_LIMIT,
        ..CallFilter::default()
    };
    let rows = ctx.store.stores.history.calls(filter).await?;
    let calls: Vec<PastCall> = rows.into_iter().filter_map(PastCall::from_row).collect();
    let judge = Judge { toolcrib: ctx.toolcrib, current };
    let mut found: Vec<RuleSuggestion> = grouped(&judge, &calls)
        .into_iter()
        .filter(|(_, approvals)| approvals.len() >= APPROVALS)
        .filter_map(|(candidate, approvals)| judge.suggestion(candidate, approvals.len(), &calls))
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse((one.approvals, one.last_at)));
    Ok(found)
}

/// A possible suggestion: text, workspace and agent of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rule: String,
    workspace: String,
    agent: String,
}

/// Returns the questions that each candidate would have covered.
fn grouped(judge: &Judge<'_>, calls: &[PastCall]) -> BTreeMap<Candidate, BTreeSet<ApprovalId>> {
    let mut groups: BTreeMap<Candidate, BTreeSet<ApprovalId>> = BTreeMap::new();
    for call in calls {
        let facts = &call.row.facts;
        let (Some(approval), Some(_)) = (facts.approval, &facts.approved_by) else { continue };
        for rule in judge.candidates(call) {
            let workspace = facts.context.workspace.clone();
            let candidate = Candidate { rule, workspace, agent: facts.context.agent.clone() };
            groups.entry(candidate).or_default().insert(approval);
        }
    }
    groups
}

struct Judge<'a> {
    toolcrib: &'a Toolcrib,
    current: &'a RuleSet,
}

impl Judge<'_> {
    /// Returns rules that allow exactly this call, or one part of its command line each.
    fn candidates(&self, call: &PastCall) -> Vec<String> {
        let name = call.operation();
        let text = |key: &str| call.args.get(key).and_then(Value::as_str);
        if call.tool() == SHELL_TOOL {
            let parts = call.evaluate(self.current, self.toolcrib).segments;
            let open = parts.into_iter().filter(|part| part.verdict != Some(Verdict::Allow));
            return open.map(|part| format!("Bash({})", part.text)).collect();
        }
        let is_path_operation = PATH_OPERATIONS.contains(&name);
        if let Some(path) = text("path").filter(|_| is_path_operation) {
            return vec![format!("{name}({})", path_pattern(path))];
        }
        let Some(spec) = self.toolcrib.spec(call.tool()) else { return Vec::new() };
        let parameters = spec.input_schema.get("properties").and_then(Value::as_object);
        let parameters: Vec<&String> = parameters.into_iter().flat_map(|all| all.keys()).collect();
        match parameters.as_slice() {
            [] => vec![name.to_owned()],
            [only] => {
                text(only).map(|value| format!("{name}({only}:{value})")).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn suggestion(
        &self,
        candidate: Candidate,
        approvals: usize,
        calls: &[PastCall],
    ) -> Option<RuleSuggestion> {
        let not_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        let mut suggestion = RuleSuggestion {
            workspace: not_empty(candidate.workspace),
            agent: not_empty(candidate.agent),
            rule: candidate.rule,
            approvals,
            last_at: 0,
            past_calls: 0,
        };
        let alone = source(suggestion.text());
        if !RuleSet::lint(std::slice::from_ref(&alone)).is_empty() {
            return None;
        }
        let only = RuleSet::compile(vec![alone.clone()]).ok()?;
        let written = self.current.sources().iter().cloned().chain([alone]).collect();
        let with_it = RuleSet::compile(written).ok()?;
        let mut answered = 0;
        for call in calls.iter().filter(|call| call.is_covered(&only, self.toolcrib)) {
            if was_denied_by_a_person(call) || self.allows_a_change(&only, call) {
                return None;
            }
            suggestion.past_calls += 1;
            suggestion.last_at = suggestion.last_at.max(call.row.facts.received_at);
            // A rule that asks or denies, or the floor, would still stop the call.
            answered += usize::from(!self.is_stopped(&with_it, call));
        }
        (answered > 0 && answered == suggestion.past_calls).then_some(suggestion)
    }

    /// Returns whether rules that ask or deny, or the floor, decide about a call.
    fn is_stopped(&self, rules: &RuleSet, call: &PastCall) -> bool {
        let said = call.evaluate(rules, self.toolcrib);
        let stops =
            |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Ask | Verdict::Deny));
        let by_rule = stops(said.verdict) && said.rule.is_some();
        said.always_asks || by_rule || said.segments.iter().any(|part| stops(part.verdict))
    }

    /// Returns whether a rule allows a call whose arguments differ from the approved ones in the
    /// part that the rule matches.
    fn allows_a_change(&self, rule: &RuleSet, call: &PastCall) -> bool {
        let Some(args) = call.args.as_object() else { return false };
        let key = ["command", "path"].into_iter().find(|key| args.contains_key(*key));
        let Some(key) = key.or_else(|| args.keys().next().map(String::as_str)) else {
            return false;
        };
        let Some(text) = args.get(key).and_then(Value::as_str) else { return false };
        ["x", " x"].into_iter().any(|more| {
            let mut changed = args.clone();
            changed.insert(key.to_owned(), json!(format!("{text}{more}")));
            call.is_allowed(&Value::Object(changed), rule, self.toolcrib)
        })
    }
}

fn source(text: RuleText) -> RuleSource {
    RuleSource { text, layer: Layer::User, origin: "suggestion".to_owned() }
}

/// Returns a path of an argument in the notation of rules on paths (docs/rules.md, Paths).
fn path_pattern(path: &str) -> String {
    match path {
        absolute if absolute.starts_with('/') => format!("/{absolute}"),
        relative if relative.starts_with("./") || relative.starts_with("~/") => relative.to_owned(),
        relative => format!("./{relative}"),
    }
}

fn was_denied_by_a_person(call: &PastCall) -> bool {
    let end = call.row.end.as_ref();
    end.is_some_and(|end| end.error_type == Some(ErrorType::ApprovalDenied))
}
