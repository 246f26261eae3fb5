//! Evaluates command lines with rules that are part of each question: neither files nor tools
//! matter.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::rules::{Layer, RuleQuery, RuleSet, RuleSource, RuleText};
use toolcrib_core::{Clock as _, SystemClock, Verdict};

use super::explain::ExplainedSegment;
use super::hypothetical_call::HypotheticalCall;
use super::verdict::{CallVerdict, DefaultVerdict};

/// Number of compiled rule sets in the cache: consecutive questions mostly have the same rules.
const CACHE_SIZE: usize = 64;

/// A command line with the rules to evaluate.
#[derive(Debug, Clone, Deserialize)]
pub struct LineQuestion {
    #[serde(default)]
    rules: Value,
    #[serde(default = "ask")]
    default: Verdict,
    command: String,
    #[serde(default)]
    agent: String,
    #[serde(default = "chat")]
    channel: String,
    #[serde(default)]
    workspace: String,
}

fn ask() -> Verdict {
    Verdict::Ask
}

fn chat() -> String {
    "chat".to_owned()
}

/// The decision about a command line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineAnswer {
    /// The decision.
    pub verdict: Verdict,
    /// The deciding rule; null = no rule decides.
    pub rule: Option<String>,
    /// The parts of the line, in order.
    pub segments: Vec<ExplainedSegment>,
}

/// Answers questions, and caches compiled rules.
#[derive(Debug, Default)]
pub struct LineJudge(HashMap<String, Result<RuleSet, String>>);

impl LineJudge {
    /// Answers a question. The rules need not pass the lint: even dangerous rules are evaluated.
    ///
    /// # Errors
    /// A description of the fault in the rules.
    pub fn answer(&mut self, question: &LineQuestion) -> Result<LineAnswer, String> {
        let rules = self.compiled(&question.rules)?;
        let call = HypotheticalCall::from_command_line(&question.command);
        let judged = rules.evaluate(&RuleQuery {
            operation: &call.operation,
            tool: &call.tool,
            args: &call.args,
            agent: &question.agent,
            channel: &question.channel,
            workspace: &question.workspace,
            now_ms: SystemClock.now_ms(),
        });
        let verdict = CallVerdict::new(judged, &DefaultVerdict::given(question.default));
        Ok(LineAnswer {
            verdict: verdict.verdict,
            rule: verdict.rule.map(|rule| rule.rule),
            segments: verdict.segments.into_iter().map(ExplainedSegment::from).collect(),
        })
    }

    fn compiled(&mut self, rules: &Value) -> Result<RuleSet, String> {
        let key = rules.to_string();
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        if self.0.len() >= CACHE_SIZE {
            self.0.clear();
        }
        let set = compile(rules.clone());
        self.0.insert(key, set.clone());
        set
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RuleLists {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

fn compile(rules: Value) -> Result<RuleSet, String> {
    let lists = match rules {
        Value::Null => RuleLists::default(),
        rules => serde_json::from_value(rules).map_err(|error| format!("rules: {error}"))?,
    };
    let RuleLists { allow, ask, deny } = lists;
    let lists = [(Verdict::Deny, deny), (Verdict::Ask, ask), (Verdict::Allow, allow)];
    let written = lists.into_iter().flat_map(|(effect, rules)| {
        rules.into_iter().enumerate().map(move |(at, rule)| rule_from_text(effect, at, rule))
    });
    RuleSet::compile(written.collect())
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn rule_from_text(effect: Verdict, at: usize, rule: String) -> RuleSource {
    let text = RuleText { is_unsafe: true, ..RuleText::new(effect, rule) };
    RuleSource { text, layer: Layer::User, origin: format!("rules.{effect}:{}", at + 1) }
}
