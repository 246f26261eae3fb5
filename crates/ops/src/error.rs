//! The errors of operations, and the table that maps a failure to its HTTP status and exit code.

use std::fmt;

use serde_json::Value;
use toolcrib_core::{StoreError, ToolError};

/// The reason why an operation failed.
///
/// The texts name no command and no route: each surface adds its own hint on the next step.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpError {
    /// The name or id does not exist, or belongs to another owner.
    #[error("there is no {what} {name}")]
    NotFound {
        /// The kind of object.
        what: Resource,
        /// The requested name or id.
        name: String,
        /// Similar names or ids, the nearest first.
        near: Vec<String>,
    },
    /// The requested object does not exist; the text states what does.
    #[error("{0}")]
    Absent(String),
    /// The prefix of an id matches several ids.
    #[error("{prefix} is the beginning of {} ids", ids.len())]
    Ambiguous {
        /// The kind of object.
        what: Resource,
        /// The prefix.
        prefix: String,
        /// All ids with this prefix.
        ids: Vec<String>,
    },
    /// Another process removed or changed the object during the operation.
    #[error("{0}")]
    Overtaken(String),
    /// The request can be parsed but is not valid.
    #[error("{0}")]
    Invalid(String),
    /// A file of the owner is not valid.
    #[error("{0}")]
    Unusable(String),
    /// A change of an existing object must name the version that it changes.
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
    /// The engine refused the call.
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
    /// The object was changed after the caller read it.
    #[error("{0}")]
    Stale(String),
    /// The object existed, but has expired or ended.
    #[error("{0}")]
    Gone(String),
    /// The operation was done, and its audit record could not be written.
    #[error("{0}")]
    Unrecorded(String),
    /// A file of the owner exists but cannot be read.
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
        error: Box<Self>,
        /// The facts, as a JSON object.
        facts: Value,
    },
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident: $code:literal, $status:literal, $exit:literal;)*) => {
        /// A row of the table of failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorClass {
            $($(#[$doc])* $name,)*
        }

        impl ErrorClass {
            /// All rows.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the `code` of the problem document over HTTP.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// Returns the HTTP status.
            #[must_use]
            pub fn http_status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }

            /// Returns the exit code of the command line.
            #[must_use]
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$name => $exit),* }
            }
        }
    };
}

classes! {
    /// The object does not exist.
    NotFound: "not_found", 404, 4;
    /// The request is not valid.
    Invalid: "invalid", 422, 2;
    /// No proof of who the caller is.
    Unauthorized: "unauthorized", 401, 5;
    /// No permission.
    Denied: "forbidden", 403, 5;
    /// The request contradicts the current state.
    Conflict: "conflict", 409, 5;
    /// The object was changed after the caller read it.
    Stale: "stale", 412, 5;
    /// The request does not name the version to change.
    NeedsVersion: "needs_match", 428, 5;
    /// The object has expired or ended.
    Gone: "gone", 410, 6;
    /// A store does not answer.
    Unavailable: "unavailable", 503, 1;
    /// A bug in this process.
    Internal: "internal", 500, 1;
}

impl OpError {
    /// Creates the error for a name that does not exist, without suggestions.
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
            // An unusable file or vault is a configuration error.
            Self::Unusable(_) | Self::Unreadable(_) | Self::Vault(_) => 3,
            Self::WithFacts { error, .. } => error.exit_code(),
            error => error.class().exit_code(),
        }
    }

    /// Returns the row of the table.
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
        /// Kinds of objects that operations look up.
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
    /// A paired app.
    App = "app";
    /// A pairing.
    Pairing = "pairing";
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
    /// A script that is saved as a tool.
    Chain = "script";
    /// A token of the REST API.
    Token = "token";
}
