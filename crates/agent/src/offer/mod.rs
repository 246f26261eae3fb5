//! Which tools of a view a request declares (SPEC 5.1, 6.2 and 6.7): all of them while their schemas are a small part of the model's window, else
//! those that are always there and those that the model has found.
//!
//! What is left out can be found with `find_tools`, and called by its name at any time: the view of the batch decides about that, as always.

mod exposed;
mod injected;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::exposure::{FIND_TOOLS, LOAD_TOOL_GROUP};
use toolcrib_core::{
    BoxFuture, CallCtx, Entry, ErrorType, Handler, Tier, ToolError, ToolName, ToolOutput, ToolSpec,
    View,
};

use crate::context;

pub use exposed::Exposed;
pub(crate) use exposed::Shown;
pub use injected::Injected;

/// Part of the window, in percent, that schemas may take before tools have to be found (SPEC 6.7: 8).
pub const SHARE: u64 = 8;
/// Tokens that found tools may take in a small window, where the share would be no room for any.
pub const LEAST_ROOM: u64 = 2_000;
/// Characters of a lazy tool's description (SPEC 5.1: `short_summary`).
const SUMMARY_CHARS: usize = 100;

/// When tools have to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferMode {
    /// When their schemas would take more than the share.
    #[default]
    Auto,
    /// Never: all schemas are in every request.
    All,
    /// Always.
    Search,
}

/// How tools get into requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferRules {
    /// When tools have to be found.
    pub mode: OfferMode,
    /// Part of the window in percent, 1 to 100: what all schemas may take together in the automatic mode, and what found tools may take.
    pub share: u64,
}

impl Default for OfferRules {
    fn default() -> Self {
        Self { mode: OfferMode::default(), share: SHARE }
    }
}

impl OfferRules {
    /// Tokens that found tools may take in a window of this size.
    fn room(&self, window: u64) -> u64 {
        (window.saturating_mul(self.share) / 100).max(LEAST_ROOM)
    }

    fn is_much(&self, tokens: u64, window: u64) -> bool {
        tokens.saturating_mul(100) > window.saturating_mul(self.share)
    }
}

/// A group of tools, of which some are not declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGroup {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: Vec<ToolName>,
}

/// What a request declares.
#[derive(Debug, Clone, Default)]
pub struct Offered {
    /// The tools, in the order of the view, which prompt caches rely on. Of a lazy tool only its name and what it does.
    pub tools: Vec<Entry>,
    /// Where tools have to be found: the groups that can be loaded.
    pub groups: Vec<ToolGroup>,
    /// Tools of the view that are not declared.
    pub left_out: usize,
    /// Tokens that this saves, an estimate.
    pub tokens_saved: u64,
    /// Those that are declared whole.
    whole: HashSet<ToolName>,
}

/// The tools of a view with what each costs; made once per view.
pub(crate) struct Priced {
    pub(crate) view: Arc<View>,
    /// For whom the declarations of providers' own tools count.
    pub(crate) provider: String,
    tokens: Vec<u64>,
}

impl Priced {
    pub(crate) fn new(view: Arc<View>, provider: String) -> Self {
        let tokens = view.tools.iter().map(|entry| context::tool(entry, &provider)).collect();
        Self { view, provider, tokens }
    }

    /// What a request declares of these tools, when the conversation has found those.
    pub(crate) fn offer(&self, rules: OfferRules, found: &Injected, window: u64) -> Offered {
        if !self.view.find(FIND_TOOLS).is_some_and(can_be_called) {
            // Without it what is left out could not be found.
            return self.declare(|_| Some(Form::Whole));
        }
        let brief: Vec<Option<Entry>> = self.view.tools.iter().map(brief).collect();
        let small = |at: usize| match brief.get(at) {
            Some(Some(brief)) => context::tool(brief, &self.provider),
            _ => self.tokens.get(at).copied().unwrap_or_default(),
        };
        let all: u64 = (0..self.tokens.len()).map(small).sum();
        let searches = match rules.mode {
            OfferMode::All => false,
            OfferMode::Search => true,
            OfferMode::Auto => rules.is_much(all, window),
        };
        let carried = self.carried(found, rules.room(window));
        let loader = self.view.find(LOAD_TOOL_GROUP).map(|entry| entry.spec().name.clone());
        let mut offered = self.declare(|(at, entry)| {
            let spec = entry.spec();
            let is_carried = carried.contains(&spec.name);
            let is_loader = loader.as_ref() == Some(&spec.name);
            match searches {
                true => (spec.tier == Tier::Innate || is_carried).then_some(Form::Whole),
                false if is_loader => Some(Form::Useless),
                false if is_carried => Some(Form::Whole),
                false => Some(match brief.get(at) {
                    Some(Some(brief)) => Form::Brief(brief.clone()),
                    _ => Form::Whole,
                }),
            }
        });
        if searches && loader.is_some() {
            offered.groups = self.groups();
        }

        offered
    }

    /// The found tools that there is room for, those used last before others.
    fn carried(&self, found: &Injected, mut room: u64) -> HashSet<ToolName> {
        let mut carried = HashSet::new();
        let mut places: BTreeMap<&str, u64> = BTreeMap::new();
        for (entry, tokens) in self.view.tools.iter().zip(&self.tokens) {
            places.insert(entry.spec().name.as_str(), *tokens);
        }
        for name in found.newest_first() {
            if let Some(tokens) = places.get(name)
                && let Ok(tool) = ToolName::remote(name)
                && *tokens <= room
            {
                room -= tokens;
                carried.insert(tool);
            }
        }
        carried
    }

    fn declare(&self, form: impl Fn((usize, &Entry)) -> Option<Form>) -> Offered {
        let mut offered = Offered::default();
        for (at, (entry, tokens)) in self.view.tools.iter().zip(&self.tokens).enumerate() {
            if !entry.spec().is_for_models() {
                continue;
            }
            match form((at, entry)) {
                Some(Form::Whole) => {
                    offered.whole.insert(entry.spec().name.clone());
                    offered.tools.push(entry.clone());
                }
                Some(Form::Brief(brief)) => {
                    let cost = context::tool(&brief, &self.provider);
                    offered.tokens_saved += tokens.saturating_sub(cost);
                    offered.tools.push(brief);
                }
                Some(Form::Useless) => {}
                None => {
                    offered.left_out += 1;
                    offered.tokens_saved += tokens;
                }
            }
        }
        offered
    }

    fn groups(&self) -> Vec<ToolGroup> {
        let mut groups: BTreeMap<&str, Vec<ToolName>> = BTreeMap::new();
        let listed = self.view.tools.iter().filter(|entry| can_be_called(entry));
        let offered = |spec: &&Arc<ToolSpec>| spec.tier != Tier::Innate && spec.is_for_models();
        for spec in listed.map(Entry::spec).filter(offered) {
            if let Some(group) = &spec.group {
                groups.entry(group).or_default().push(spec.name.clone());
            }
        }
        let group = |(name, tools): (&str, _)| ToolGroup { name: name.to_owned(), tools };
        groups.into_iter().map(group).collect()
    }
}

enum Form {
    Whole,
    Brief(Entry),
    /// There is nothing that it could add.
    Useless,
}

fn can_be_called(entry: &Entry) -> bool {
    entry.handler().is_none_or(|handler| handler.fault().is_none())
}

/// A lazy tool without its schema; `None` = the tool is not lazy.
fn brief(entry: &Entry) -> Option<Entry> {
    let Entry::Local(handler) = entry else { return None };
    let spec = handler.spec();
    if !spec.lazy_schema || spec.tier == Tier::Innate || !can_be_called(entry) {
        return None;
    }
    let mut short = ToolSpec::new(
        spec.name.clone(),
        format!(
            "{} (Its parameters are not shown: call {FIND_TOOLS} with its name before you call it.)",
            summary(&spec.description)
        ),
        json!({"type": "object", "properties": {}}),
    );
    short.tier = spec.tier;
    Some(Entry::Local(Arc::new(Named(Arc::new(short)))))
}

/// The first line of a description, or its first words.
fn summary(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= SUMMARY_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(SUMMARY_CHARS).collect();
    let words = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{words}…")
}

/// What is declared in place of a lazy tool. Calls go through the door, which knows the tool itself.
struct Named(Arc<ToolSpec>);

impl Handler for Named {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = format!("Tool {} was only described, it cannot be called here.", self.0.name);
        Box::pin(std::future::ready(Err(ToolError::new(ErrorType::ToolNotAvailable, text))))
    }
}
