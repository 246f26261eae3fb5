//! `toolcrib rules explain --lines`: one question in and one answer out per line.

use std::collections::HashMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_app::rules::{Layer, RuleQuery, RuleSet, RuleSource, RuleText};
use toolcrib_core::{Clock as _, SystemClock, Verdict};
use toolcrib_ops::rules::{CallVerdict, DefaultVerdict};

use super::explain::Explanation;
use super::hypothetical_call::HypotheticalCall;
use crate::jsonl;
use crate::output::Failure;

/// Sets of rules that are kept ready: lines that come together mostly have the same.
const CACHE_SIZE: usize = 64;

#[derive(Deserialize)]
struct ExplainRequest {
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

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RuleLists {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

pub(super) fn run() -> Result<u8, Failure> {
    let mut sets = RuleSetCache::default();
    // What is wrong with a line stands in its answer, and in nothing else.
    jsonl::run_filter(|line: ExplainRequest| answer(line, &mut sets))?;
    Ok(0)
}

fn answer(line: ExplainRequest, sets: &mut RuleSetCache) -> Result<Map<String, Value>, String> {
    let set = sets.get(line.rules)?;
    let HypotheticalCall { operation, tool, args, .. } =
        HypotheticalCall::from_command_line(&line.command);
    let judged = set.evaluate(&RuleQuery {
        operation: &operation,
        tool: &tool,
        args: &args,
        agent: &line.agent,
        channel: &line.channel,
        workspace: &line.workspace,
        now_ms: SystemClock.now_ms(),
    });
    let otherwise = DefaultVerdict::given(line.default);
    Ok(jsonl::into_object(Explanation(CallVerdict::new(judged, &otherwise)).to_jsonl_row()))
}

/// Rules that were read already.
#[derive(Default)]
struct RuleSetCache(HashMap<String, Rc<Result<RuleSet, String>>>);

impl RuleSetCache {
    fn get(&mut self, rules: Value) -> Result<RuleSet, String> {
        let key = rules.to_string();
        if let Some(set) = self.0.get(&key) {
            return (**set).clone();
        }
        if self.0.len() >= CACHE_SIZE {
            self.0.clear();
        }
        let set = compile(rules);
        self.0.insert(key, Rc::new(set.clone()));
        set
    }
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

/// This explains rules; `rules lint` judges whether they should be written.
fn rule_from_text(effect: Verdict, at: usize, rule: String) -> RuleSource {
    let text = RuleText {
        effect,
        rule,
        agents: Vec::new(),
        channels: Vec::new(),
        workspaces: Vec::new(),
        reason: None,
        matches: Vec::new(),
        not_match: Vec::new(),
        expires: None,
        is_unsafe: true,
        is_observed: false,
    };
    RuleSource { text, layer: Layer::User, origin: format!("rules.{effect}:{}", at + 1) }
}
