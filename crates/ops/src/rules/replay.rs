//! Replays past calls with other rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::Preset;
use toolcrib_app::rule_files::RulesError;
use toolcrib_app::rules::{Layer, RuleSet, RuleSource};
use toolcrib_core::{CallFilter, CallId, Verdict};

use super::past_call::PastCall;
use crate::context::OpContext;
use crate::error::OpError;

/// Maximum number of compared calls, the newest.
pub(super) const SCAN_LIMIT: usize = 1_000;

/// A change of the rules in force.
#[derive(Debug, Clone)]
pub struct ReplayRequest<'a> {
    /// The rules of all layers that are in force.
    pub in_force: &'a RuleSet,
    /// The change.
    pub change: RulesChange,
    /// The preset, which decides where no rule speaks, by the risk of the call.
    pub preset: Preset,
}

/// How rules are changed.
#[derive(Debug, Clone)]
pub enum RulesChange {
    /// Rules that are only observed decide.
    EnforceObserved,
    /// These rules replace all rules of a layer.
    Replace {
        /// The layer.
        layer: Layer,
        /// The rules.
        rules: Vec<RuleSource>,
    },
}

/// Two sets of rules.
struct Comparison<'a> {
    before: &'a RuleSet,
    after: RuleSet,
    preset: Preset,
}

/// The calls about which the two sets of rules differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayReply {
    /// Number of compared past calls, among the newest 1,000 of the history.
    pub compared: usize,
    /// Number of past calls that were not compared: they were refused before policy, or their
    /// arguments were too long to be stored.
    pub skipped: usize,
    /// Whether the history has older calls.
    pub truncated: bool,
    /// The calls about which the verdicts differ, newest first.
    pub differences: Vec<ReplayedCall>,
}

/// A past call about which two sets of rules differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedCall {
    /// The call.
    pub call: String,
    /// `TOOL` or `TOOL.ACTION`.
    pub operation: String,
    /// Its arguments as JSON text; absent for callers that may not see them.
    pub args: Option<String>,
    /// When it was received, in milliseconds since 1970.
    pub received_at: i64,
    /// The verdict of the first rules: `allow`, `ask` or `deny`.
    pub before: String,
    /// The verdict of the changed rules.
    pub after: String,
    /// The rule that causes the difference, with its origin: the deciding one of the changed rules,
    /// or else of the first ones.
    pub rule: Option<String>,
}

/// Evaluates past calls with the rules in force and with the changed rules. Grants, switches and
/// taint are left out: they are the same for both.
///
/// # Errors
/// [`OpError::Unusable`] for changed rules that cannot be used, [`OpError::Store`] when the history
/// cannot be read.
pub async fn replay(
    ctx: &OpContext<'_>,
    request: ReplayRequest<'_>,
) -> Result<ReplayReply, OpError> {
    let ReplayRequest { in_force: before, change, preset } = request;
    let after = changed(before, change)?;
    let sets = Comparison { before, after, preset };
    let filter = CallFilter {
        owner: ctx.store.owner.to_owned(),
        limit: SCAN_LIMIT,
        ..CallFilter::default()
    };
    let rows = ctx.store.stores.history.calls(filter).await?;
    let mut reply = ReplayReply { truncated: rows.len() >= SCAN_LIMIT, ..ReplayReply::default() };
    for row in rows {
        match PastCall::from_row(row) {
            Some(call) => {
                reply.compared += 1;
                reply.differences.extend(difference(ctx, &sets, &call));
            }
            None => reply.skipped += 1,
        }
    }
    Ok(reply)
}

/// The rules of all layers after the change.
fn changed(in_force: &RuleSet, change: RulesChange) -> Result<RuleSet, RulesError> {
    let changed = match change {
        RulesChange::EnforceObserved => {
            in_force.with_observed().unwrap_or_else(|| Ok(in_force.clone()))
        }
        RulesChange::Replace { layer, rules } => {
            let others = in_force.sources().iter().filter(|rule| rule.layer != layer).cloned();
            let own = rules.into_iter().map(|rule| RuleSource { layer, ..rule });
            RuleSet::compile(others.chain(own).collect())
        }
    };
    changed.map_err(RulesError::Refused)
}

fn difference(ctx: &OpContext<'_>, sets: &Comparison<'_>, call: &PastCall) -> Option<ReplayedCall> {
    let before = call.verdict(sets.before, sets.preset, ctx.toolcrib);
    let after = call.verdict(&sets.after, sets.preset, ctx.toolcrib);
    let text = |verdict: Verdict| verdict.as_str().to_owned();
    let id: CallId = call.row.facts.call;
    (before.verdict != after.verdict).then(|| ReplayedCall {
        call: id.to_string(),
        operation: call.operation().to_owned(),
        args: call.row.facts.args.clone().filter(|_| ctx.store.shows_payloads),
        received_at: call.row.facts.received_at,
        before: text(before.verdict),
        after: text(after.verdict),
        rule: after.rule.or(before.rule).map(|rule| rule.to_string()),
    })
}
