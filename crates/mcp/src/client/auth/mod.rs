//! Authorization for servers over HTTP: OAuth 2.1 as MCP 2025-11-25 and 2026-07-28 have it.
//!
//! Invariants
//! - A token goes to the server that it was asked for, and to nobody else; what an authorization server gave goes to no other one.
//! - Everything is fetched by the client that checks addresses, in bounded answers, and credentials only over TLS (or on this machine).
//! - What a person has to agree to is never done without one: a connection says that it needs authorization, and [`Login`] is how it gets it.
//!
//! Absent on purpose: the implicit and the password grant, endpoints that are guessed, sender-constrained tokens (a draft extension).

mod challenge;
mod fetch;
mod identity;
mod jwt;
mod keeper;
mod kept;
mod login;
mod metadata;
mod place;
mod settings;
mod token;

pub use kept::Kept;
pub use login::Login;
pub use settings::{GrantKind, Oauth};

pub(crate) use challenge::Challenge;
pub(crate) use keeper::{Answer, Keeper};

/// Why there is no authorization. What others say is cut and without control characters, and none of it holds a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A person has to agree.
    #[error("it needs authorization")]
    Needed,
    /// Something cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// An answer that cannot be used, or must not be.
    #[error("{0}")]
    Unusable(String),
    /// The authorization server said no.
    #[error("the authorization server refused: {0}")]
    Refused(String),
    /// The server wants scopes that were asked for already, more than once.
    #[error("the server wants the scopes {0} although they were asked for already")]
    ScopesInVain(String),
    /// The configuration is not enough.
    #[error("{0}")]
    Configuration(String),
    /// A redirect that does not belong to this login.
    #[error("that redirect does not belong to this login")]
    ForeignRedirect,
}

/// What somebody else says, fit for a line of ours.
fn said(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
