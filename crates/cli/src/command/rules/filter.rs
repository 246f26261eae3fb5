//! `toolcrib rules explain --lines`: one question in and one answer out per line.

use std::collections::HashMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_app::core::{Clock as _, SystemClock, Verdict};
use toolcrib_app::rules::{Asked, Layer, RuleSet, RuleText, Written};

use super::ask::Question;
use super::explain::{Answer, Otherwise};
use crate::lines;
use crate::output::Failure;

/// Sets of rules that are kept ready: lines that come together mostly have the same.
const KEPT: usize = 64;

#[derive(Deserialize)]
struct Line {
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
struct Lists {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

pub(super) fn run() -> Result<u8, Failure> {
    let mut sets = Sets::default();
    // What is wrong with a line stands in its answer, and in nothing else.
    lines::answer(|line: Line| answer(line, &mut sets))?;
    Ok(0)
}

fn answer(line: Line, sets: &mut Sets) -> Result<Map<String, Value>, String> {
    let set = sets.get(line.rules)?;
    let Question { operation, tool, args, .. } = Question::of_line(&line.command);
    let judged = set.judge(&Asked {
        operation: &operation,
        tool: &tool,
        args: &args,
        agent: &line.agent,
        channel: &line.channel,
        workspace: &line.workspace,
        now_ms: SystemClock.now_ms(),
    });
    let otherwise = Otherwise::by_default(line.default);
    Ok(lines::object(Answer::new(judged, &otherwise).line()))
}

/// Rules that were read already.
#[derive(Default)]
struct Sets(HashMap<String, Rc<Result<RuleSet, String>>>);

impl Sets {
    fn get(&mut self, rules: Value) -> Result<RuleSet, String> {
        let key = rules.to_string();
        if let Some(set) = self.0.get(&key) {
            return (**set).clone();
        }
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        let set = compile(rules);
        self.0.insert(key, Rc::new(set.clone()));
        set
    }
}

fn compile(rules: Value) -> Result<RuleSet, String> {
    let lists = match rules {
        Value::Null => Lists::default(),
        rules => serde_json::from_value(rules).map_err(|error| format!("rules: {error}"))?,
    };
    let Lists { allow, ask, deny } = lists;
    let lists = [(Verdict::Deny, deny), (Verdict::Ask, ask), (Verdict::Allow, allow)];
    let written = lists.into_iter().flat_map(|(effect, rules)| {
        rules.into_iter().enumerate().map(move |(at, rule)| written(effect, at, rule))
    });
    RuleSet::compile(written.collect())
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// What they mean is asked here, not whether somebody should write them.
fn written(effect: Verdict, at: usize, rule: String) -> Written {
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
    };
    Written { text, layer: Layer::User, origin: format!("rules.{effect}:{}", at + 1) }
}
