//! Finds tools for a need in plain words, by words and meaning.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use toolcrib_core::ViewRequest;

use super::list::rows;
use super::row::ToolRow;
use crate::context::OpContext;
use crate::error::OpError;

/// Number of found tools: the default, and the maximum.
const FOUND: usize = 5;
const MOST_FOUND: usize = 100;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct FindToolsRequest {
    /// The need in plain words, or the name of a tool.
    pub need: String,
    /// Maximum number of found tools, 1 to 100; default 5.
    pub limit: Option<usize>,
}

/// The tools that match a need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundTools {
    /// Tools that the caller can call, best first, each with its `score`.
    pub found: Vec<ToolRow>,
    /// Tools that match better than these but are not ready, such as those whose configuration is
    /// missing.
    pub not_ready: Vec<ToolRow>,
    /// The names nearest to the need, if no tool was found.
    pub nearest: Vec<String>,
    /// The reason why a remote model did not determine the order.
    #[serde(skip)]
    pub note: Option<String>,
    /// Maximum number of rows in one list.
    #[serde(skip)]
    limit: usize,
}

impl FoundTools {
    /// Returns all tools in one list: first those that the caller can call.
    pub(super) fn into_rows(self) -> Vec<ToolRow> {
        self.found.into_iter().chain(self.not_ready).take(self.limit).collect()
    }
}

/// Finds tools of a caller.
///
/// # Errors
/// [`OpError::Invalid`] for a limit out of range; [`OpError::Unreadable`] if the configured model
/// for the search cannot be used.
pub async fn search(
    ctx: &OpContext<'_>,
    caller: &ViewRequest,
    request: &FindToolsRequest,
) -> Result<FoundTools, OpError> {
    let limit = request.limit.unwrap_or(FOUND);
    if !(1..=MOST_FOUND).contains(&limit) {
        return Err(OpError::Invalid(format!("limit is from 1 to {MOST_FOUND}")));
    }
    let view = Arc::new(caller.clone());
    // The first search builds the index.
    let result = ctx.toolcrib.search_tools(&view, &request.need, limit).await.map_err(|error| {
        let why = error.detail.unwrap_or(error.message);
        OpError::Unreadable(format!(
            "the model for finding tools cannot be used: {why}; see `[discovery]` in the \
             configuration"
        ))
    })?;
    let mut known: HashMap<String, ToolRow> =
        rows(ctx, caller, |_| true).into_iter().map(|row| (row.name.clone(), row)).collect();
    let mut row = |name: &str, score| known.remove(name).map(|row| ToolRow { score, ..row });
    let usable = result.usable.iter().take(limit);
    let found = usable
        .filter_map(|(entry, score)| row(entry.spec().name.as_str(), Some(rounded(*score))))
        .collect();
    let not_ready =
        result.not_ready.iter().filter_map(|(name, _)| row(name.as_str(), None)).collect();
    Ok(FoundTools { found, not_ready, nearest: result.nearest, note: result.note, limit })
}

/// Rounds a score to four digits: more of them differ between the ways of printing an `f32`.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}
