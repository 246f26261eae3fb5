//! Tool selection: decides which tools of a view a request declares. It declares all of them while
//! their schemas take a small part of the context window, otherwise the innate tools and those that
//! the model has found.
//!
//! An undeclared tool can be found with `find_tools`, and called by its name at any time: the view
//! of the batch decides about such calls, as for every call.

mod declared_tools;
mod found_tools;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::tool_selection::{FIND_TOOLS, LOAD_TOOL_GROUP};
use toolcrib_core::{
    BoxFuture, CallCtx, Entry, ErrorType, Handler, Tier, ToolError, ToolName, ToolOutput, ToolSpec,
    View,
};

use crate::context;

pub use declared_tools::ActiveRequestTools;
pub(crate) use declared_tools::RequestTools;
pub use found_tools::FoundTools;

/// Part of the window, in percent, that schemas may take before tools must be found.
pub const SHARE: u64 = 8;
/// Tokens that found tools may take in a small window, in which the share would leave no space for
/// any.
pub const LEAST_ROOM: u64 = 2_000;
/// Characters of a lazy tool's description.
const SUMMARY_CHARS: usize = 100;

/// The condition under which tools must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolSelectionMode {
    /// If their schemas would take more than the share.
    #[default]
    Auto,
    /// Never: all schemas are in every request.
    All,
    /// Always.
    Search,
}

/// Configuration of tool selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolSelectionRules {
    /// The condition under which tools must be found.
    pub mode: ToolSelectionMode,
    /// Percentage of the window, 1 to 100: the limit for all schemas together in the automatic
    /// mode, and for found tools.
    pub share: u64,
}

impl Default for ToolSelectionRules {
    fn default() -> Self {
        Self { mode: ToolSelectionMode::default(), share: SHARE }
    }
}

impl ToolSelectionRules {
    /// Returns the number of tokens that found tools may take in a window of this size.
    fn room(&self, window: u64) -> u64 {
        (window.saturating_mul(self.share) / 100).max(LEAST_ROOM)
    }

    fn is_much(&self, tokens: u64, window: u64) -> bool {
        tokens.saturating_mul(100) > window.saturating_mul(self.share)
    }
}

/// A group of tools, some of which are not declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGroup {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: Vec<ToolName>,
}

/// The declared tools of a request.
#[derive(Debug, Clone, Default)]
pub struct SelectedTools {
    /// The tools, in the order of the view, so that prompt caches stay valid. A lazy tool has only
    /// its name and a summary.
    pub tools: Vec<Entry>,
    /// The groups that can be loaded, if tools must be found.
    pub groups: Vec<ToolGroup>,
    /// Number of tools of the view that are not declared.
    pub left_out: usize,
    /// Estimated number of tokens saved by this.
    pub tokens_saved: u64,
    /// Tools that are declared with their schema.
    whole: HashSet<ToolName>,
}

/// The tools of a view with their token costs; computed once per view.
pub(crate) struct PricedView {
    pub(crate) view: Arc<View>,
    /// The provider whose own declarations count.
    pub(crate) provider: String,
    tokens: Vec<u64>,
}

impl PricedView {
    pub(crate) fn new(view: Arc<View>, provider: String) -> Self {
        let tokens =
            view.tools.iter().map(|entry| context::estimate_tool(entry, &provider)).collect();
        Self { view, provider, tokens }
    }

    /// Selects the tools to declare, given the tools that the conversation has found.
    pub(crate) fn select(
        &self,
        rules: ToolSelectionRules,
        found: &FoundTools,
        window: u64,
    ) -> SelectedTools {
        if !self.view.find(FIND_TOOLS).is_some_and(can_be_called) {
            // Without `find_tools`, undeclared tools could not be found.
            return self.declare(|_| Some(DeclarationForm::Whole));
        }
        let brief: Vec<Option<Entry>> = self.view.tools.iter().map(brief).collect();
        let small = |at: usize| match brief.get(at) {
            Some(Some(brief)) => context::estimate_tool(brief, &self.provider),
            _ => self.tokens.get(at).copied().unwrap_or_default(),
        };
        let all: u64 = (0..self.tokens.len()).map(small).sum();
        let searches = match rules.mode {
            ToolSelectionMode::All => false,
            ToolSelectionMode::Search => true,
            ToolSelectionMode::Auto => rules.is_much(all, window),
        };
        let carried = self.carried(found, rules.room(window));
        let loader = self.view.find(LOAD_TOOL_GROUP).map(|entry| entry.spec().name.clone());
        let mut offered = self.declare(|(at, entry)| {
            let spec = entry.spec();
            let is_carried = carried.contains(&spec.name);
            let is_loader = loader.as_ref() == Some(&spec.name);
            match searches {
                true => (spec.tier == Tier::Innate || is_carried).then_some(DeclarationForm::Whole),
                false if is_loader => Some(DeclarationForm::Useless),
                false if is_carried => Some(DeclarationForm::Whole),
                false => Some(match brief.get(at) {
                    Some(Some(brief)) => DeclarationForm::Brief(brief.clone()),
                    _ => DeclarationForm::Whole,
                }),
            }
        });
        if searches && loader.is_some() {
            offered.groups = self.groups();
        }

        offered
    }

    /// Returns the found tools that fit, most recently used first.
    fn carried(&self, found: &FoundTools, mut room: u64) -> HashSet<ToolName> {
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

    fn declare(&self, form: impl Fn((usize, &Entry)) -> Option<DeclarationForm>) -> SelectedTools {
        let mut offered = SelectedTools::default();
        for (at, (entry, tokens)) in self.view.tools.iter().zip(&self.tokens).enumerate() {
            if !entry.spec().is_for_models() {
                continue;
            }
            match form((at, entry)) {
                Some(DeclarationForm::Whole) => {
                    offered.whole.insert(entry.spec().name.clone());
                    offered.tools.push(entry.clone());
                }
                Some(DeclarationForm::Brief(brief)) => {
                    let cost = context::estimate_tool(&brief, &self.provider);
                    offered.tokens_saved += tokens.saturating_sub(cost);
                    offered.tools.push(brief);
                }
                Some(DeclarationForm::Useless) => {}
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

enum DeclarationForm {
    Whole,
    Brief(Entry),
    /// The tool is not useful in this request.
    Useless,
}

fn can_be_called(entry: &Entry) -> bool {
    entry.handler().is_none_or(|handler| handler.broken_reason().is_none())
}

/// Returns a lazy tool without its schema; `None` if the tool is not lazy.
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
    Some(Entry::Local(Arc::new(NameOnlyHandler(Arc::new(short)))))
}

/// Returns the first line of a description, or its first words.
fn summary(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= SUMMARY_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(SUMMARY_CHARS).collect();
    let words = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{words}…")
}

/// Declared in place of a lazy tool. Calls go through the invoker, which knows the tool itself.
struct NameOnlyHandler(Arc<ToolSpec>);

impl Handler for NameOnlyHandler {
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
