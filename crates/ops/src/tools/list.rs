//! Lists tools, and finds tools for a need.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::{ToolInfo, ViewRequest};

use super::exclusions;
use super::numbers::{self, ToolNumbers};
use super::row::ToolRow;
use crate::context::OpContext;
use crate::error::OpError;

/// Number of found tools: the default, and the maximum.
const FOUND: usize = 5;
const MOST_FOUND: usize = 100;

/// The tools to list, and the caller.
#[derive(Debug, Clone, Default)]
pub struct ListToolsRequest {
    /// The properties of the caller that determine the offered tools.
    pub caller: ViewRequest,
    /// A need in plain words: only matching tools, best first, then matching tools that are not
    /// ready. `None` lists all tools.
    pub find: Option<String>,
    /// Maximum number of found tools, 1 to 100; default 5.
    pub limit: Option<usize>,
    /// Whether to add the metrics of their calls, counted from this time if one is given
    /// (milliseconds since 1970).
    pub metrics: Option<Option<i64>>,
}

/// Lists the tools, enabled or not, in the order in which they are offered.
///
/// # Errors
/// [`OpError::Invalid`] for a limit out of range; [`OpError::Internal`] if tools cannot be
/// searched; [`OpError::Store`] if the history cannot be read.
pub async fn list(ctx: &OpContext<'_>, request: ListToolsRequest) -> Result<Vec<ToolRow>, OpError> {
    let mut rows = rows(ctx, &request.caller, |_| true);
    if let Some(need) = &request.find {
        rows = find(ctx, &request, need, rows).await?;
    }
    if let Some(since) = request.metrics {
        let mut metrics: HashMap<String, ToolNumbers> =
            numbers::all(&ctx.store, since).await?.into_iter().collect();
        for row in &mut rows {
            row.metrics = metrics.remove(&row.name);
        }
    }
    Ok(rows)
}

/// Returns the rows of these tools for a caller.
pub(super) fn rows(
    ctx: &OpContext<'_>,
    caller: &ViewRequest,
    is_meant: impl Fn(&ToolInfo) -> bool,
) -> Vec<ToolRow> {
    let mut excluded: HashMap<_, _> = exclusions(ctx.toolcrib, caller).into_iter().collect();
    let infos = ctx.toolcrib.infos().into_iter().filter(is_meant);
    infos
        .map(|info| {
            let excluded = excluded.remove(info.id.as_str());
            ToolRow::new(ctx.toolcrib, info, excluded)
        })
        .collect()
}

/// Returns the rows of the tools that match the need.
async fn find(
    ctx: &OpContext<'_>,
    request: &ListToolsRequest,
    need: &str,
    rows: Vec<ToolRow>,
) -> Result<Vec<ToolRow>, OpError> {
    let limit = request.limit.unwrap_or(FOUND);
    if !(1..=MOST_FOUND).contains(&limit) {
        return Err(OpError::Invalid(format!("limit is from 1 to {MOST_FOUND}")));
    }
    let view = Arc::new(request.caller.clone());
    // The first search builds the index.
    let sought = ctx.toolcrib.search_tools(&view, need, limit).await.map_err(|error| {
        let why = error.detail.unwrap_or(error.message);
        OpError::Internal(format!("tools cannot be searched, see `[discovery]`: {why}"))
    })?;
    let mut rows: HashMap<String, ToolRow> =
        rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    let usable = sought.usable.into_iter().take(limit);
    let usable = usable.map(|(entry, score)| (entry.spec().name.to_string(), Some(score)));
    let waiting = sought.not_ready.into_iter().map(|(name, _)| (name.to_string(), None));
    let found = usable.chain(waiting).filter_map(|(name, score)| {
        let row = rows.remove(&name)?;
        Some(ToolRow { score, ..row })
    });
    Ok(found.take(limit).collect())
}
