//! The principal of a request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
pub use toolcrib_ops::person::Person;
pub use toolcrib_ops::role::{Role, Roles};

use crate::problem::{Code, Problem};

/// The principal of a request, in the extensions of every authenticated request. A handler that
/// takes it as an argument always gets one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name in records: `owner`, `owner@socket`, or the name and the id of its token, as in
    /// `token ci (token_…)`. The name is unique, so records are compared by it.
    pub name: String,
    /// The owner whose rows the principal reads and writes; empty for the only owner.
    pub owner: String,
    /// Its roles.
    pub roles: Roles,
    /// The client for limits and fairness: the token, or the session of the page.
    pub client: String,
    /// Canonical names or globs of the tools that the principal may call; `None` for all tools in
    /// view.
    pub tools: Option<Vec<String>>,
    /// Expiry of the token in milliseconds since 1970; `None` if it never expires.
    pub expires_at: Option<i64>,
}

impl Principal {
    /// Returns whether the principal has this role.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.allows(role)
    }

    /// Returns whether the principal sees arguments and results. The role viewer alone does not
    /// permit that.
    #[must_use]
    pub fn sees_payloads(&self) -> bool {
        Role::SEE_PAYLOADS.into_iter().any(|role| self.has_role(role))
    }

    /// Returns whether the principal may read the secrets of this daemon: the owner holds the key
    /// of the vault, and a token that is limited to some tools does not count as the owner.
    #[must_use]
    pub fn may_read_secrets(&self) -> bool {
        self.has_role(Role::Owner) && self.tools.is_none()
    }

    /// Refuses to stop work that another principal started (`by`, its name in records) if the token
    /// is limited to some tools.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_unrestricted_or_own(&self, by: &str) -> Result<(), Problem> {
        if self.name == by || self.tools.is_none() {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!(
                "it was started by {by}, and the token of {} is limited to some tools",
                self.name
            ),
        ))
    }

    /// Refuses to control work that another principal started: the work acts with the tools and in
    /// the name of that principal.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_control_of(&self, by: &str) -> Result<(), Problem> {
        self.require_unrestricted_or_own(by)?;
        if self.name == by || self.has_role(Role::Approver) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!(
                "it was started by {by}, whose tools it has: only {by} or an approver may control it"
            ),
        ))
    }

    /// Refuses a principal without this role.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_role(&self, role: Role) -> Result<(), Problem> {
        if self.has_role(role) {
            return Ok(());
        }
        let has: Vec<&str> = self.roles.list().into_iter().map(Role::as_str).collect();
        let has = if has.is_empty() { "no role".to_owned() } else { has.join(", ") };
        Err(Problem::new(
            Code::Forbidden,
            format!("{} may not do this: it needs the role {role}, and has {has}", self.name),
        ))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| Problem::new(Code::Unauthorized, "the request has no token"))
    }
}
