//! When a hook is run, by the names of seed 002 and SPEC 3.3.

use std::fmt;
use std::str::FromStr;

use toolcrib_core::EventKind;
use toolcrib_core::near::nearest;

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// Before policy looks at a call: the hook may refuse it or change its arguments.
    Guard,
    /// When this happens: the hook is told.
    On(EventKind),
}

impl HookEvent {
    /// All of them.
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

    /// Its name in files, and in the `hook_point` that a program reads.
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
            match nearest(text, names()).first() {
                Some(near) => format!("unknown event `{text}`, did you mean `{near}`?"),
                None => {
                    let all: Vec<&str> = names().collect();
                    format!("unknown event `{text}`; known are {}", all.join(", "))
                }
            }
        })
    }
}
