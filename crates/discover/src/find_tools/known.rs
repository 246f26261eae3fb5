//! The index beside the registry: what it knows of every tool, brought up to date before a search.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use toolcrib_core::near::nearest;
use toolcrib_core::{Catalog, Entry, Exclusion, Status, Tier, ToolInfo, ToolName, ToolSpec, View};

use crate::FLOOR;
use crate::index::{Hit, Index};
use crate::model::Model;
use crate::profile::Profile;

/// A hit that is this much weaker than the best one is not what was meant, even above the floor.
const OF_BEST: f32 = 0.5;
/// Names that are offered where nothing fits.
const NEAREST: usize = 3;
/// Words of a query that may be a mistyped name.
const MOST_WORDS: usize = 8;

/// What a search came to.
#[derive(Debug, Default)]
pub struct Sought {
    /// Tools above the floor that the caller can call, best first, with their scores: 0 to about 1.
    pub usable: Vec<(Entry, f32)>,
    /// Tools above the floor whose configuration is missing or whose source is away, with the reason.
    pub not_ready: Vec<(ToolName, Status)>,
    /// Where both are empty: the nearest names.
    pub nearest: Vec<String>,
    /// How many of the first are spelled out in the need.
    pub(super) named: usize,
    /// Why the order is not as good as it could be, for people.
    pub note: Option<String>,
}

/// From what a tool was indexed.
enum Definition {
    /// Its specification; held, so that the same pointer is the same definition.
    Spec(Arc<ToolSpec>),
    /// Its description alone: no view has shown the rest of it yet.
    Described(String),
}

/// The index and what it was made from.
pub(super) struct Known {
    index: Index,
    tools: HashMap<String, Definition>,
    generation: Option<u64>,
    view: Weak<View>,
}

impl Known {
    /// Knows nothing yet.
    pub(super) fn new(model: Arc<Model>) -> Self {
        Self {
            index: Index::new(model),
            tools: HashMap::new(),
            generation: None,
            view: Weak::new(),
        }
    }

    /// Takes over what has changed since the last search: only tools that are new, gone or defined anew are indexed.
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
                self.index.put(name, &Profile::from(&**spec));
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

    /// Indexes a tool that is in no view by its description, unless more is known of it.
    fn describe(&mut self, info: &ToolInfo) {
        let name = info.id.as_str();
        let same = |known: &Definition| match known {
            Definition::Spec(_) => true,
            Definition::Described(text) => *text == info.description,
        };
        if !self.tools.get(name).is_some_and(same) {
            let profile = Profile {
                name: name.to_owned(),
                server: info.group.clone().unwrap_or_default(),
                description: info.description.clone(),
                ..Profile::default()
            };
            self.index.put(name, &profile);
            self.tools.insert(name.to_owned(), Definition::Described(info.description.clone()));
        }
    }

    /// Finds tools in a view, and what would be in it if it were configured.
    ///
    /// For a second look that knows better, `doubtful` tools are among them: below the floor, and far below the best one.
    pub(super) fn seek(&self, query: &str, limit: usize, view: &View, doubtful: bool) -> Sought {
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
        // Twice as many as are wanted: some will be in the caller's list already.
        let hits = self.index.find_among(query, limit * 2, may_see);
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let fits = |hit: &&Hit| {
            hit.named || fits(hit.score, best) || (doubtful && hit.score >= FLOOR * OF_BEST)
        };
        let mut sought = Sought::default();
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

/// Whether a score is an answer beside the best one.
pub(super) fn fits(score: f32, best: f32) -> bool {
    score >= FLOOR.max(best * OF_BEST)
}

/// The entry of a tool that may be offered: what is always in the list needs no finding.
fn offered<'a>(view: &'a View, name: &str) -> Option<&'a Entry> {
    // By its own name, not by an alias of another.
    let entry = view.find(name).filter(|entry| entry.spec().name.as_str() == name)?;
    can_be_offered(entry).then_some(entry)
}

/// Whether a tool is not always in the list anyway, and can be called.
pub(super) fn can_be_offered(entry: &Entry) -> bool {
    let is_broken = entry.handler().is_some_and(|handler| handler.fault().is_some());
    entry.spec().tier != Tier::Innate && entry.spec().is_for_models() && !is_broken
}

/// Whether a person can make the tool ready.
fn is_waiting(status: &Status) -> bool {
    matches!(status, Status::Available { .. } | Status::Offline { .. })
}

/// Names that a word of the query is a slip of, then those of the best hits below the floor.
fn nearest_names(query: &str, hits: &[Hit], view: &View) -> Vec<String> {
    let names =
        || view.tools.iter().map(|e| e.spec().name.as_str()).filter(|n| offered(view, n).is_some());
    let words = query.split_whitespace().filter(|word| word.contains(['_', '.'])).take(MOST_WORDS);
    let mut found: Vec<String> = Vec::new();
    let slips = words.flat_map(|word| nearest(word, names()));
    for name in slips.chain(hits.iter().map(|hit| &*hit.id)) {
        if found.len() < NEAREST && !found.iter().any(|f| f == name) {
            found.push(name.to_owned());
        }
    }
    found
}
