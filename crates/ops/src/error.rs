//! Why an operation failed, and the one table from a failure to its HTTP status and exit code.

use std::fmt;

use serde_json::Value;
use toolcrib_core::{StoreError, ToolError};

/// Why an operation failed.
///
/// The texts name no command and no route: each surface adds its own hint about what to do next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpError {
    /// Nothing of this kind has this name or id, or it belongs to another owner.
    #[error("there is no {what} {name}")]
    NotFound {
        /// The kind of thing.
        what: Resource,
        /// The name or id that was asked for.
        name: String,
        /// Names or ids that may be meant, the nearest first.
        near: Vec<String>,
    },
    /// What was asked for is not there; the text says what is.
    #[error("{0}")]
    Absent(String),
    /// The beginning of an id fits several.
    #[error("{prefix} is the beginning of {} ids", ids.len())]
    Ambiguous {
        /// The kind of thing.
        what: Resource,
        /// The beginning.
        prefix: String,
        /// All ids that begin with it.
        ids: Vec<String>,
    },
    /// Another process removed or changed it while the operation ran.
    #[error("{0}")]
    Overtaken(String),
    /// The request is readable and makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A file of the owner cannot be used as it is.
    #[error("{0}")]
    Unusable(String),
    /// A change of something that exists has to name the version that it changes.
    #[error("{0}")]
    NeedsVersion(String),
    /// The tool has no switch: the switch of a feature controls it.
    #[error("{tool} has no switch of its own")]
    NoOwnSwitch {
        /// The tool.
        tool: String,
        /// The feature.
        feature: String,
    },
    /// A run of the conversation has not ended.
    #[error("the run {run} of this conversation is not over")]
    OpenRun {
        /// Id of the run.
        run: String,
    },
    /// The engine refused it.
    #[error("{}", _0.message)]
    Refused(ToolError),
    /// The caller may not do this.
    #[error("{0}")]
    Denied(String),
    /// The caller did not prove who it is.
    #[error("{0}")]
    Unauthorized(String),
    /// The request contradicts the present state.
    #[error("{0}")]
    Conflict(String),
    /// What the request names was changed since the caller read it.
    #[error("{0}")]
    Stale(String),
    /// The thing was there and has expired or ended.
    #[error("{0}")]
    Gone(String),
    /// The operation was done, and its audit record could not be written.
    #[error("{0}")]
    Unrecorded(String),
    /// A file of the owner exists and cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A file or a store that the operation needs cannot be written or read.
    #[error("{0}")]
    Unavailable(String),
    /// The vault cannot be used.
    #[error("{0}")]
    Vault(String),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operation failed for a reason that the caller cannot change.
    #[error("{0}")]
    Internal(String),
    /// A failure with facts about it for programs.
    #[error("{error}")]
    WithFacts {
        /// The failure.
        error: Box<OpError>,
        /// The facts, as a JSON object.
        facts: Value,
    },
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident: $code:literal, $status:literal, $exit:literal;)*) => {
        /// The row of the table that a failure belongs to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorClass {
            $($(#[$doc])* $name,)*
        }

        impl ErrorClass {
            /// All rows.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The `code` of the problem document over HTTP.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// The HTTP status.
            #[must_use]
            pub fn http_status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }

            /// The exit code of the command line.
            #[must_use]
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$name => $exit),* }
            }
        }
    };
}

classes! {
    /// No such thing.
    NotFound: "not_found", 404, 4;
    /// A request that makes no sense.
    Invalid: "invalid", 422, 2;
    /// No proof of who the caller is.
    Unauthorized: "unauthorized", 401, 5;
    /// No permission.
    Denied: "forbidden", 403, 5;
    /// It contradicts the present state.
    Conflict: "conflict", 409, 5;
    /// Changed since the caller read it.
    Stale: "stale", 412, 5;
    /// The version that is changed was not named.
    NeedsVersion: "needs_match", 428, 5;
    /// Expired or ended.
    Gone: "gone", 410, 6;
    /// A store does not answer.
    Unavailable: "unavailable", 503, 1;
    /// A fault in this process.
    Internal: "internal", 500, 1;
}

impl OpError {
    /// Nothing of this kind has this name; there is nothing to suggest.
    #[must_use]
    pub fn not_found(what: Resource, name: impl fmt::Display) -> Self {
        Self::NotFound { what, name: name.to_string(), near: Vec::new() }
    }

    /// The failure with facts about it, a JSON object.
    #[must_use]
    pub fn with_facts(self, facts: Value) -> Self {
        Self::WithFacts { error: Box::new(self), facts }
    }

    /// The exit code: that of the class, except where the engine or a file is the reason.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(error) => error.error_type.exit_code(),
            // Files and vaults that cannot be used are a configuration to correct.
            Self::Unusable(_) | Self::Unreadable(_) | Self::Vault(_) => 3,
            Self::WithFacts { error, .. } => error.exit_code(),
            error => error.class().exit_code(),
        }
    }

    /// The row of the table.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound { .. } | Self::Absent(_) | Self::Overtaken(_) => ErrorClass::NotFound,
            Self::Ambiguous { .. } | Self::Invalid(_) | Self::Unusable(_) => ErrorClass::Invalid,
            Self::NeedsVersion(_) => ErrorClass::NeedsVersion,
            Self::Unauthorized(_) => ErrorClass::Unauthorized,
            Self::Denied(_) => ErrorClass::Denied,
            Self::Conflict(_)
            | Self::NoOwnSwitch { .. }
            | Self::OpenRun { .. }
            | Self::Refused(_) => ErrorClass::Conflict,
            Self::Stale(_) => ErrorClass::Stale,
            Self::Gone(_) => ErrorClass::Gone,
            Self::Store(_)
            | Self::Vault(_)
            | Self::Unrecorded(_)
            | Self::Unreadable(_)
            | Self::Unavailable(_) => ErrorClass::Unavailable,
            Self::Internal(_) => ErrorClass::Internal,
            Self::WithFacts { error, .. } => error.class(),
        }
    }
}

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// Kinds of things that operations look up.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Resource {
            $($(#[$doc])* $name,)*
        }

        impl fmt::Display for Resource {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $word),* })
            }
        }
    };
}

resources! {
    /// A tool.
    Tool = "tool";
    /// An agent.
    Agent = "agent";
    /// A skill.
    Skill = "skill";
    /// A kit.
    Kit = "kit";
    /// A call.
    Call = "call";
    /// A run.
    Run = "run";
    /// A conversation.
    Conversation = "conversation";
    /// A grant.
    Grant = "remembered approval";
    /// A question to a person.
    Approval = "approval";
    /// A stored result.
    Artifact = "stored result";
    /// A task of the scheduler.
    Task = "task";
    /// A notification.
    Notification = "notification";
    /// A memory.
    Memory = "memory";
    /// A goal.
    Goal = "goal";
    /// A draft.
    Draft = "draft";
    /// A document.
    Document = "document";
    /// A list.
    List = "list";
    /// A feature switch.
    Switch = "switch";
    /// An MCP server.
    McpServer = "server";
    /// A secret of the vault.
    Secret = "secret";
    /// A rule.
    Rule = "rule";
    /// A script that is kept as a tool.
    Chain = "script";
    /// A token of the REST API.
    Token = "token";
}
