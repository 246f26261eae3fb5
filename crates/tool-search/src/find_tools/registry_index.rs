//! Index of the registry's tools, updated before each search.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use toolcrib_core::similar_names::similar_names;
use toolcrib_core::{Catalog, Entry, Exclusion, Status, Tier, ToolInfo, ToolName, ToolSpec, View};

use crate::MIN_SCORE;
use crate::index::{Hit, Index};
use crate::model::Model;
use crate::tool_profile::ToolProfile;

/// Minimum score as a share of the best score, even for scores above [`MIN_SCORE`].
const MIN_SHARE_OF_BEST: f32 = 0.5;
/// Maximum number of suggested names if no tool matches.
const NEAREST: usize = 3;
/// Number of query words that are checked as misspelled names.
const MOST_WORDS: usize = 8;

/// The result of a search.
#[derive(Debug, Default)]
pub struct ToolSearchResult {
    /// Callable tools with a sufficient score, best first, with scores from 0 to about 1.
    pub usable: Vec<(Entry, f32)>,
    /// Tools with a sufficient score whose configuration is missing or whose source is offline,
    /// with the reason.
    pub not_ready: Vec<(ToolName, Status)>,
    /// The nearest names, if both other lists are empty.
    pub nearest: Vec<String>,
    /// Number of the first results that the query names.
    pub(super) named: usize,
    /// The reason why the order may be worse than usual, for people.
    pub note: Option<String>,
}

/// The data from which a tool was indexed.
enum Definition {
    /// Its specification, kept alive so that pointer equality identifies the definition.
    Spec(Arc<ToolSpec>),
    /// Only its description: no view has included the tool yet.
    Described(String),
}

/// The index and its inputs.
pub(super) struct RegistryIndex {
    index: Index,
    tools: HashMap<String, Definition>,
    generation: Option<u64>,
    view: Weak<View>,
}

impl RegistryIndex {
    /// Creates an empty index.
    pub(super) fn new(model: Arc<Model>) -> Self {
        Self {
            index: Index::new(model),
            tools: HashMap::new(),
            generation: None,
            view: Weak::new(),
        }
    }

    /// Applies the changes since the last search: only new, removed or redefined tools are
    /// processed.
    pub(super) fn sync(&mut self, catalog: &dyn Catalog, view: &Arc<View>) {
        let generation = catalog.generation();
        if self.generation != Some(generation) {
            let infos = catalog.infos();
            self.forget_all_but(&infos);
            for info in infos.iter().filter(|info| is_waiting(&info.status)) {
                self.describe(info);
            }
            self.generation = Some(generation);
        } else if Weak::as_ptr(&self.view) == Arc::as_ptr(view) {
            return;
        }
        for entry in &view.tools {
            let spec = entry.spec();
            let name = spec.name.as_str();
            let same =
                |known: &Definition| matches!(known, Definition::Spec(s) if Arc::ptr_eq(s, spec));
            if !self.tools.get(name).is_some_and(same) {
                self.index.put(name, &ToolProfile::from(&**spec));
                self.tools.insert(name.to_owned(), Definition::Spec(Arc::clone(spec)));
            }
        }
        self.view = Arc::downgrade(view);
    }

    fn forget_all_but(&mut self, infos: &[ToolInfo]) {
        let there: HashSet<&str> = infos.iter().map(|info| info.id.as_str()).collect();
        let index = &mut self.index;
        self.tools.retain(|name, _| {
            let stays = there.contains(name.as_str());
            if !stays {
                index.remove(name);
            }
            stays
        });
    }

    /// Indexes a tool that is in no view by its description, unless its specification is known.
    fn describe(&mut self, info: &ToolInfo) {
        let name = info.id.as_str();
        let same = |known: &Definition| match known {
            Definition::Spec(_) => true,
            Definition::Described(text) => *text == info.description,
        };
        if !self.tools.get(name).is_some_and(same) {
            let profile = ToolProfile {
                name: name.to_owned(),
                server: info.group.clone().unwrap_or_default(),
                description: info.description.clone(),
                ..ToolProfile::default()
            };
            self.index.put(name, &profile);
            self.tools.insert(name.to_owned(), Definition::Described(info.description.clone()));
        }
    }

    /// Finds tools in a view, and tools that would be in it if they were configured.
    ///
    /// With `doubtful`, tools below the thresholds are included, for a reranker to decide.
    pub(super) fn search(
        &self,
        query: &str,
        limit: usize,
        view: &View,
        doubtful: bool,
    ) -> ToolSearchResult {
        let waiting: HashMap<&str, &Status> = view
            .excluded
            .iter()
            .filter_map(|excluded| match &excluded.reason {
                Exclusion::NotReady { status } if is_waiting(status) => {
                    Some((excluded.name.as_str(), status))
                }
                _ => None,
            })
            .collect();
        let may_see = |name: &str| offered(view, name).is_some() || waiting.contains_key(name);
        // Twice the number, because some will already be in the caller's list.
        let hits = self.index.find_among(query, limit * 2, may_see);
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let fits = |hit: &&Hit| {
            hit.named
                || is_close_to_best(hit.score, best)
                || (doubtful && hit.score >= MIN_SCORE * MIN_SHARE_OF_BEST)
        };
        let mut sought = ToolSearchResult::default();
        for hit in hits.iter().filter(fits) {
            if let Some(entry) = offered(view, &hit.id) {
                sought.named += usize::from(hit.named);
                sought.usable.push((entry.clone(), hit.score));
            } else if let (Some(status), Ok(name)) =
                (waiting.get(&*hit.id), ToolName::remote(&hit.id))
            {
                sought.not_ready.push((name, (*status).clone()));
            }
        }
        if sought.usable.is_empty() && sought.not_ready.is_empty() {
            sought.nearest = nearest_names(query, &hits, view);
        }
        sought
    }
}

/// Returns whether a score is sufficient, given the best score.
pub(super) fn is_close_to_best(score: f32, best: f32) -> bool {
    score >= MIN_SCORE.max(best * MIN_SHARE_OF_BEST)
}

/// Returns the entry of a tool that may be offered; innate tools need no search.
fn offered<'a>(view: &'a View, name: &str) -> Option<&'a Entry> {
    // By its own name, not by an alias of another tool.
    let entry = view.find(name).filter(|entry| entry.spec().name.as_str() == name)?;
    is_callable(entry).then_some(entry)
}

/// Returns whether a tool can be called and is not innate.
pub(super) fn is_callable(entry: &Entry) -> bool {
    let is_broken = entry.handler().is_some_and(|handler| handler.broken_reason().is_some());
    entry.spec().tier != Tier::Innate && entry.spec().is_for_models() && !is_broken
}

/// Whether a person can make the tool available.
fn is_waiting(status: &Status) -> bool {
    matches!(status, Status::Available { .. } | Status::Offline { .. })
}

/// Returns names of which a query word may be a misspelling, followed by the best hits below the
/// threshold.
fn nearest_names(query: &str, hits: &[Hit], view: &View) -> Vec<String> {
    let names =
        || view.tools.iter().map(|e| e.spec().name.as_str()).filter(|n| offered(view, n).is_some());
    let words = query.split_whitespace().filter(|word| word.contains(['_', '.'])).take(MOST_WORDS);
    let mut found: Vec<String> = Vec::new();
    let slips = words.flat_map(|word| similar_names(word, names()));
    for name in slips.chain(hits.iter().map(|hit| &*hit.id)) {
        if found.len() < NEAREST && !found.iter().any(|f| f == name) {
            found.push(name.to_owned());
        }
    }
    found
}
