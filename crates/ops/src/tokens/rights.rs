//! The rights of a caller, which limit the tokens that it may create or revoke.

use crate::error::OpError;
use crate::role::{Role, Roles};

/// Maximum number of tools in the limit of a token.
const MAX_TOOLS: usize = 200;
/// Maximum number of bytes of a tool's name.
const MAX_TOOL_NAME: usize = 80;

/// The rights of a caller.
#[derive(Debug, Clone, Copy)]
pub struct CallerRights<'a> {
    /// Its roles.
    pub roles: Roles,
    /// Names or globs of the tools that it may call; `None` for all tools in view.
    pub tools: Option<&'a [String]>,
    /// Expiry of its own token in milliseconds since 1970; `None` if it never expires.
    pub expires_at: Option<i64>,
}

impl CallerRights<'_> {
    /// Returns the names of these roles, each once.
    ///
    /// # Errors
    /// [`OpError::Invalid`] for an empty list, [`OpError::Denied`] for a role that the caller does
    /// not have.
    pub(super) fn require_roles(&self, roles: &[Role]) -> Result<Vec<String>, OpError> {
        if roles.is_empty() {
            return Err(OpError::Invalid("roles names at least one role".to_owned()));
        }
        let wanted = Roles::from_roles(roles);
        if !wanted.is_subset_of(self.roles) {
            return Err(beyond("one of these roles"));
        }
        Ok(wanted.list().into_iter().map(|role| role.as_str().to_owned()).collect())
    }

    /// Checks the tools of a new token.
    ///
    /// # Errors
    /// [`OpError::Invalid`] for an invalid name of a tool, [`OpError::Denied`] for a tool that the
    /// caller may not call.
    pub(super) fn require_new_tools(&self, tools: Option<&[String]>) -> Result<(), OpError> {
        let is_name = |name: &String| {
            (1..=MAX_TOOL_NAME).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.*:".contains(&b))
        };
        let Some(named) = tools else {
            return if self.tools.is_none() { Ok(()) } else { Err(beyond("all tools")) };
        };
        if named.len() > MAX_TOOLS || !named.iter().all(is_name) {
            return Err(OpError::Invalid(format!(
                "tools are at most {MAX_TOOLS} names as agents have them, such as read_file, group:files or github__*"
            )));
        }
        if self.has_tools(tools) { Ok(()) } else { Err(beyond("one of these tools")) }
    }

    /// Refuses a token with tools that the caller may not call.
    ///
    /// # Errors
    /// [`OpError::Denied`].
    pub(super) fn require_tools_of(&self, tools: Option<&[String]>) -> Result<(), OpError> {
        if self.has_tools(tools) { Ok(()) } else { Err(beyond("one of the tools of that token")) }
    }

    /// Refuses a token that is valid for longer than the caller's own.
    ///
    /// # Errors
    /// [`OpError::Denied`].
    pub(super) fn require_expiry(&self, expires_at: Option<i64>) -> Result<(), OpError> {
        let is_longer = |own| expires_at.is_none_or(|end| end > own);
        if self.expires_at.is_some_and(is_longer) {
            return Err(beyond("a time that is longer than its own"));
        }
        Ok(())
    }

    /// Returns whether a limit to these tools is within the caller's own; `None` means all
    /// tools.
    fn has_tools(&self, tools: Option<&[String]>) -> bool {
        let Some(own) = self.tools else { return true };
        tools.is_some_and(|tools| tools.iter().all(|name| own.contains(name)))
    }
}

pub(super) fn beyond(what: &str) -> OpError {
    OpError::Denied(format!("a token cannot grant or revoke rights that it does not have: {what}"))
}
