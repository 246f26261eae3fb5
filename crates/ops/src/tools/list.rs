//! Lists tools.

use std::collections::HashMap;

use toolcrib_core::{ToolInfo, ViewRequest};

use super::exclusions;
use super::numbers::{ToolNumbers, all_numbers};
use super::row::ToolRow;
use super::search::{FindToolsRequest, search};
use crate::context::OpContext;
use crate::error::OpError;

/// The tools to list, and the caller.
#[derive(Debug, Clone, Default)]
pub struct ListToolsRequest {
    /// The properties of the caller that determine the offered tools.
    pub caller: ViewRequest,
    /// Only the tools that a search finds, in its order; `None` lists all tools.
    pub find: Option<FindToolsRequest>,
    /// Whether to add the metrics of their calls, counted from this time if one is given
    /// (milliseconds since 1970).
    pub metrics: Option<Option<i64>>,
}

/// Lists the tools, enabled or not, in the order in which they are offered.
///
/// # Errors
/// Those of [`search`]; [`OpError::Store`] if the history cannot be read.
pub async fn list(ctx: &OpContext<'_>, request: ListToolsRequest) -> Result<Vec<ToolRow>, OpError> {
    let mut rows = match &request.find {
        Some(find) => search(ctx, &request.caller, find).await?.into_rows(),
        None => rows(ctx, &request.caller, |_| true),
    };
    if let Some(since) = request.metrics {
        let mut metrics: HashMap<String, ToolNumbers> =
            all_numbers(&ctx.store, since).await?.into_iter().collect();
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
