//! Tool selection: the tools that the requests of a conversation declare, for `find_tools` and
//! `load_tool_group`.
//!
//! The view of a batch ([`crate::CallCtx::view`]) decides which tools a caller may use. Which of
//! them the next request to a model declares is a separate question, which the author of the
//! requests answers through [`ToolSelection`].

use serde_json::Value;

use crate::BoxFuture;
use crate::entry::Entry;
use crate::error::ToolError;
use crate::tool::CallCtx;
use crate::tool_name::ToolName;

/// Name of the tool that finds tools by a description of the need.
pub const FIND_TOOLS: &str = "find_tools";
/// Name of the tool that adds a group of tools.
pub const LOAD_TOOL_GROUP: &str = "load_tool_group";

/// The tools that the requests of a conversation declare. The agent loop implements it; callers
/// without a conversation use [`NoToolSelection`].
pub trait ToolSelection: Send + Sync {
    /// Returns whether this process writes the requests of the call's conversation, so that
    /// injected tools are declared in them. Other callers need to be told how a tool is called.
    fn declares_tools(&self, ctx: &CallCtx) -> bool;

    /// Returns whether the caller's requests already declare this tool in full.
    fn contains(&self, ctx: &CallCtx, tool: &ToolName) -> bool;

    /// Adds tools, best first, to the next requests of the conversation. The least recently used
    /// tools are dropped to stay within the token budget. Returns the names that were added; a tool
    /// that does not fit the budget is not.
    fn inject(&self, ctx: &CallCtx, tools: &[Entry]) -> Vec<ToolName>;
}

/// Computes embeddings: vectors of texts such that similar meanings have similar vectors.
/// Implementations call a model over an API or in another process.
pub trait Embedder: Send + Sync {
    /// Returns the id of the model. Vectors of different models cannot be compared.
    fn id(&self) -> &str;

    /// Returns one vector for each text, all of the same length.
    ///
    /// # Errors
    /// A [`ToolError`], whose detail is for the operator.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>>;
}

/// For callers whose requests declare no tools: every found tool can be called by its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoToolSelection;

impl ToolSelection for NoToolSelection {
    fn declares_tools(&self, _: &CallCtx) -> bool {
        false
    }

    fn contains(&self, _: &CallCtx, _: &ToolName) -> bool {
        false
    }

    fn inject(&self, _: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        tools.iter().map(|entry| entry.spec().name.clone()).collect()
    }
}

/// Returns the names that a result of one of these tools reports as injected, read from the result
/// as stored with the conversation ([`crate::Outcome::to_wire`]). A process that resumes a
/// conversation restores the selection from it.
#[must_use]
pub fn injected_tools(tool: &str, wire: &Value) -> Vec<String> {
    if ![FIND_TOOLS, LOAD_TOOL_GROUP].contains(&tool) || wire["status"] != "success" {
        return Vec::new();
    }
    let rows = wire["result"]["injected"].as_array();
    let names = rows.into_iter().flatten().filter_map(|row| row["name"].as_str());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_results_of_the_two_tools_inject() {
        let wire = json!({"status": "success", "result": {"injected": [{"name": "a"}, {"name": 7}, {"name": "b"}]}});
        for (tool, wire, expected) in [
            (FIND_TOOLS, wire.clone(), &["a", "b"][..]),
            (LOAD_TOOL_GROUP, wire.clone(), &["a", "b"]),
            ("read_file", wire, &[]),
            (FIND_TOOLS, json!({"status": "error", "result": {"injected": [{"name": "a"}]}}), &[]),
            (FIND_TOOLS, json!({"status": "success", "result": "cut"}), &[]),
            (FIND_TOOLS, json!(null), &[]),
        ] {
            assert_eq!(injected_tools(tool, &wire), expected, "{tool} {wire}");
        }
    }
}
