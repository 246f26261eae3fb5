//! Finds a tool by its canonical name or an alias.

use std::sync::Arc;

use toolcrib_app::Toolcrib;
use toolcrib_core::{ToolSpec, similar_names};

use crate::error::{OpError, Resource};

/// Returns the definition of a tool.
///
/// # Errors
/// [`OpError::NotFound`] with similar names.
pub fn find_tool(toolcrib: &Toolcrib, name: &str) -> Result<Arc<ToolSpec>, OpError> {
    toolcrib.spec(name).ok_or_else(|| {
        let infos = toolcrib.infos();
        let near = similar_names::similar_names(name, infos.iter().map(|info| info.id.as_str()));
        let near = near.into_iter().map(str::to_owned).collect();
        OpError::NotFound { what: Resource::Tool, name: name.to_owned(), near }
    })
}
