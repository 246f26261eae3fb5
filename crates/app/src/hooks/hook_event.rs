//! Hook events and their names in configuration files.

use std::fmt;
use std::str::FromStr;

use toolcrib_core::EventKind;
use toolcrib_core::similar_names::similar_names;

/// The point at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// Before policy: the hook may refuse the call or change its arguments.
    Guard,
    /// After this event, for information only.
    On(EventKind),
}

impl HookEvent {
    /// All hook events.
    pub const ALL: [Self; 11] = [
        Self::Guard,
        Self::On(EventKind::BeforeTool),
        Self::On(EventKind::AfterTool),
        Self::On(EventKind::ToolError),
        Self::On(EventKind::PermissionDenied),
        Self::On(EventKind::BudgetExceeded),
        Self::On(EventKind::ToolsDisabled),
        Self::On(EventKind::Retry),
        Self::On(EventKind::ApprovalRequired),
        Self::On(EventKind::ApprovalDecided),
        Self::On(EventKind::Timeout),
    ];

    /// Returns the name in files, and in `hook_point` of the hook's input.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::On(EventKind::BeforeTool) => "on_before_tool",
            Self::On(EventKind::AfterTool) => "on_after_tool",
            Self::On(EventKind::ToolError) => "on_tool_error",
            Self::On(EventKind::PermissionDenied) => "on_permission_denied",
            Self::On(EventKind::BudgetExceeded) => "on_token_budget_exceeded",
            Self::On(EventKind::ToolsDisabled) => "on_tools_disabled",
            Self::On(EventKind::Retry) => "on_tool_retry",
            Self::On(EventKind::ApprovalRequired) => "on_approval_required",
            Self::On(EventKind::ApprovalDecided) => "on_approval_decided",
            Self::On(EventKind::Timeout) => "on_tool_timeout",
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.into_iter().map(Self::as_str);
        Self::ALL.into_iter().find(|event| event.as_str() == text).ok_or_else(|| {
            match similar_names(text, names()).first() {
                Some(near) => format!("unknown event `{text}`, did you mean `{near}`?"),
                None => {
                    let all: Vec<&str> = names().collect();
                    format!("unknown event `{text}`; known are {}", all.join(", "))
                }
            }
        })
    }
}
