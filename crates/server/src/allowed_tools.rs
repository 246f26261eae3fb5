//! The tools that a principal is limited to, for handlers: the pipeline checks the limit for calls,
//! as the view of the caller; all other handlers that concern a tool check it here.

use std::collections::HashSet;

use toolcrib_agent::library::expand_tool_list;
use toolcrib_core::CallId;
use toolcrib_ops::calls::CallLookup;

use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// The tools that a principal is limited to, by canonical name.
pub(crate) struct AllowedTools {
    by: String,
    /// `None` = all tools.
    names: Option<HashSet<String>>,
}

impl DaemonState {
    /// Returns the tools that this principal is limited to.
    pub(crate) fn allowed_tools(&self, principal: &Principal) -> AllowedTools {
        let names = principal.tools.as_deref().map(|tools| {
            let known = self.runner().tool_names();
            expand_tool_list(Some(tools), &known).tools.into_iter().collect()
        });
        AllowedTools { by: principal.name.clone(), names }
    }

    /// Refuses access to a call of a tool outside this principal's limit, unless the principal made
    /// the call.
    ///
    /// # Errors
    /// `forbidden`, and the errors of looking up the call.
    pub(crate) async fn require_call(
        &self,
        principal: &Principal,
        call: CallId,
    ) -> Result<(), Problem> {
        let tools = self.allowed_tools(principal);
        if tools.is_unlimited() {
            return Ok(());
        }
        let found = CallLookup::find(&self.store_context(principal), call).await?;
        tools.require_call(&found, call)
    }
}

impl AllowedTools {
    /// Returns whether the limit includes this tool.
    pub(crate) fn includes(&self, tool: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(tool))
    }

    /// Returns whether the limit includes the tool of this operation: `TOOL`, or `TOOL.ACTION`.
    pub(crate) fn includes_operation(&self, operation: &str) -> bool {
        self.includes(tool_of(operation))
    }

    /// Refuses an operation of another tool.
    ///
    /// # Errors
    /// `forbidden`.
    pub(crate) fn require_operation(&self, operation: &str) -> Result<(), Problem> {
        self.require(tool_of(operation))
    }

    /// Refuses requests that concern another tool.
    ///
    /// # Errors
    /// `forbidden`.
    pub(crate) fn require(&self, tool: &str) -> Result<(), Problem> {
        if self.includes(tool) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!("this is about {tool}, and {} is limited to other tools", self.by),
        ))
    }

    /// Returns whether there is no limit.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.names.is_none()
    }

    /// Refuses access to a call of another tool, unless the principal made it.
    ///
    /// # Errors
    /// `forbidden`.
    pub(crate) fn require_call(&self, call: &CallLookup, id: CallId) -> Result<(), Problem> {
        if self.names.is_none() || call.actor() == self.by {
            return Ok(());
        }
        self.require(call.document(id).tool.as_deref().unwrap_or_default())
    }
}

/// Returns the tool of an operation; names of tools have no dots.
fn tool_of(operation: &str) -> &str {
    operation.split_once('.').map_or(operation, |(tool, _)| tool)
}
