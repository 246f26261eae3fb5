//! What the requests of a conversation carry, for tools that add to it (SPEC 5.1 and 6.2): `find_tools` and `load_tool_group`.
//!
//! Which tools a caller may see is decided by the view of its batch ([`crate::CallCtx::view`]). Which of them a model is told of in its next
//! request is another question, and whoever writes the requests answers it behind [`Exposure`].

use serde_json::Value;

use crate::BoxFuture;
use crate::entry::Entry;
use crate::error::ToolError;
use crate::name::ToolName;
use crate::tool::CallCtx;

/// Name of the tool that finds tools by a need in words.
pub const FIND_TOOLS: &str = "find_tools";
/// Name of the tool that adds a group of tools.
pub const LOAD_TOOL_GROUP: &str = "load_tool_group";

/// What the requests of a conversation carry. The agent loop implements it; a caller without a conversation gives [`NoExposure`].
pub trait Exposure: Send + Sync {
    /// Whether the requests of this call's conversation are written here, so that what is injected is declared in them. Whoever asks without
    /// one has to be told how a tool is called.
    fn declares(&self, ctx: &CallCtx) -> bool;

    /// Whether the caller's requests carry this tool already, whole.
    fn carries(&self, ctx: &CallCtx, tool: &ToolName) -> bool;

    /// Adds tools, best first, to what the next requests of the conversation carry, and makes room in the token budget by letting go of
    /// those used longest ago. Returns the names that are in; a tool for which the budget has no room is not.
    fn inject(&self, ctx: &CallCtx, tools: &[Entry]) -> Vec<ToolName>;
}

/// Makes vectors of texts, so that texts of like meaning have like vectors: a model behind an interface, or in another program.
pub trait Embedder: Send + Sync {
    /// Which model it is; vectors of another are not to be compared with its own.
    fn id(&self) -> &str;

    /// One vector for each text, all of one length.
    ///
    /// # Errors
    /// A [`ToolError`], whose detail is for the operator.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>>;
}

/// For callers whose requests carry nothing: every tool that is found can be called, by its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExposure;

impl Exposure for NoExposure {
    fn declares(&self, _: &CallCtx) -> bool {
        false
    }

    fn carries(&self, _: &CallCtx, _: &ToolName) -> bool {
        false
    }

    fn inject(&self, _: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        tools.iter().map(|entry| entry.spec().name.clone()).collect()
    }
}

/// The names that a result of one of these tools says it has injected, as it is kept with the conversation ([`crate::Outcome::to_wire`]): what a
/// conversation carries is read out of it again by whoever goes on with it.
#[must_use]
pub fn injected(tool: &str, wire: &Value) -> Vec<String> {
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
            assert_eq!(injected(tool, &wire), expected, "{tool} {wire}");
        }
    }
}
