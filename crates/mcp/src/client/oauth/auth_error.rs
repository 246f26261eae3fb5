//! Errors of an authorization.

/// Why there is no authorization. Quoted texts are shortened, have no control characters, and
/// contain no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A person must authorize.
    #[error("it needs authorization")]
    Needed,
    /// A server cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// An invalid response, or one that must not be used.
    #[error("{0}")]
    Unusable(String),
    /// The authorization server refused.
    #[error("the authorization server refused: {0}")]
    Refused(String),
    /// The server requests the same scopes repeatedly.
    #[error("the server wants the scopes {0} although they were asked for already")]
    ScopesInVain(String),
    /// The configuration is incomplete.
    #[error("{0}")]
    Configuration(String),
    /// The redirect belongs to another login.
    #[error("that redirect does not belong to this login")]
    ForeignRedirect,
}

/// Makes foreign text safe for one line of output.
pub(super) fn bounded_text(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
