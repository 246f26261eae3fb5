//! The cost of checking a value against a schema.
//!
//! Schemas that apply to one value together multiply: two alternatives that both lead back to the
//! schema double the work with every level of the value. The work per place is therefore counted
//! for each depth of the value, and a schema whose count grows gets a maximum depth instead of
//! unbounded time.
#![deny(clippy::indexing_slicing)]

use super::schema::SchemaError;
use super::schema_plan::{AdditionalProperties, NodeId, Plan, ROOT, SubschemaPosition};

/// Maximum number of schemas that may apply to one value, including references and alternatives.
const MAX_IN_PLACE: u64 = 5_000;
/// Maximum length of a chain of such schemas; validation recurses through it at every level of the
/// value.
const MAX_CHAIN: u64 = 32;
/// Maximum number of schemas that may apply to one value over all paths that descend to it.
const MAX_PER_PLACE: u64 = 100_000;
/// Maximum number of edges examined for one schema.
const MAX_EDGES: usize = 200_000;
/// Minimum depth that a schema must accept to be usable for arguments.
const MIN_DEPTH: usize = 3;
/// Maximum depth of a decoded value (the decoder's own limit).
const DEEPEST: usize = 100;

/// Returns the maximum depth of values that can be checked in bounded time; `usize::MAX` if every
/// depth can.
pub(super) fn max_depth(plan: &Plan) -> Result<usize, SchemaError> {
    let own = in_place_counts(plan)?;
    let edges = descents(plan)?;
    let mut counts = own;
    for depth in 1..=DEEPEST {
        let next: Vec<u64> = edges.iter().map(|edges| heaviest(edges, &counts)).collect();
        if next == counts {
            return Ok(usize::MAX);
        }
        counts = next;
        match counts.get(ROOT).copied().unwrap_or_default() {
            0 => return Ok(usize::MAX),
            count if count > MAX_PER_PLACE && depth <= MIN_DEPTH => {
                return Err(SchemaError::TooComplex);
            }
            count if count > MAX_PER_PLACE => return Ok(depth - 1),
            _ => {}
        }
    }
    Ok(usize::MAX)
}

/// Returns, for each node, the number of schemas that apply to the same value, including itself;
/// rejects cycles.
fn in_place_counts(plan: &Plan) -> Result<Vec<u64>, SchemaError> {
    #[derive(Clone, Copy)]
    enum Mark {
        New,
        Open,
        Done { count: u64, chain: u64 },
    }
    let mut marks = vec![Mark::New; plan.nodes().len()];
    for start in 0..marks.len() {
        let mut stack = vec![start];
        while let Some(&id) = stack.last() {
            let (Some(node), Some(mark)) = (plan.node(id), marks.get(id).copied()) else { break };
            match mark {
                Mark::Done { .. } => {
                    stack.pop();
                }
                Mark::New => {
                    if let Some(mark) = marks.get_mut(id) {
                        *mark = Mark::Open;
                    }
                    for next in node.in_place() {
                        match marks.get(next) {
                            Some(Mark::Open) => {
                                return Err(SchemaError::Cycle { at: node.at.to_string() });
                            }
                            Some(Mark::New) => stack.push(next),
                            _ => {}
                        }
                    }
                }
                Mark::Open => {
                    let (mut count, mut chain) = (1u64, 0);
                    for next in node.in_place() {
                        if let Some(Mark::Done { count: more, chain: longer }) = marks.get(next) {
                            count = count.saturating_add(*more);
                            chain = chain.max(*longer);
                        }
                    }
                    if count > MAX_IN_PLACE || chain >= MAX_CHAIN {
                        return Err(SchemaError::TooComplex);
                    }
                    if let Some(mark) = marks.get_mut(id) {
                        *mark = Mark::Done { count, chain: chain + 1 };
                    }
                    stack.pop();
                }
            }
        }
    }
    let count = |mark: &Mark| if let Mark::Done { count, .. } = mark { *count } else { 1 };
    Ok(marks.iter().map(count).collect())
}

type Descent = (SubschemaPosition, NodeId);

/// Returns, for each node, the descents from all schemas that apply to the same value, sorted by
/// place.
fn descents(plan: &Plan) -> Result<Vec<Vec<Descent>>, SchemaError> {
    let mut all = Vec::with_capacity(plan.nodes().len());
    let mut budget = MAX_EDGES;
    for start in 0..plan.nodes().len() {
        let mut edges = Vec::new();
        let mut stack = vec![start];
        while let Some(node) = stack.pop().and_then(|id| plan.node(id)) {
            stack.extend(node.in_place());
            let before = edges.len();
            edges.extend(
                node.properties
                    .iter()
                    .map(|(name, id)| (SubschemaPosition::Property(name.clone()), *id)),
            );
            edges.extend(
                node.prefix
                    .iter()
                    .enumerate()
                    .map(|(index, id)| (SubschemaPosition::Item(index), *id)),
            );
            edges.extend(node.items.map(|id| (SubschemaPosition::AnyItem, id)));
            edges.extend(node.parts.iter().cloned());
            if let AdditionalProperties::Follow(id) = node.others {
                edges.push((SubschemaPosition::AnyProperty, id));
            }
            budget = budget.checked_sub(1 + edges.len() - before).ok_or(SchemaError::TooComplex)?;
        }
        edges.sort_unstable();
        all.push(edges);
    }
    Ok(all)
}

/// Returns the largest count at one place one level down.
fn heaviest(edges: &[Descent], counts: &[u64]) -> u64 {
    let cost = |id: &NodeId| counts.get(*id).copied().unwrap_or_default();
    let everywhere = |wanted: &SubschemaPosition| {
        edges
            .iter()
            .filter(|(place, _)| place == wanted)
            .fold(0u64, |sum, (_, id)| sum.saturating_add(cost(id)))
    };
    let (any_property, any_item) =
        (everywhere(&SubschemaPosition::AnyProperty), everywhere(&SubschemaPosition::AnyItem));
    let named = edges.chunk_by(|a, b| a.0 == b.0).map(|group| {
        let sum = group.iter().fold(0u64, |sum, (_, id)| sum.saturating_add(cost(id)));
        match group.first() {
            Some((SubschemaPosition::Property(_), _)) => sum.saturating_add(any_property),
            Some((SubschemaPosition::Item(_), _)) => sum.saturating_add(any_item),
            _ => sum,
        }
    });
    named.max().unwrap_or_default()
}
