//! Who may do what: roles, the sets of them that tokens hold, and whoever a request comes from.

use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{Code, Problem};

/// What somebody may do (`research/reliability.md` 4.4).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks: lists, states, histories. Arguments and results of calls are left out.
    Viewer,
    /// Runs what policy allows, and sees what it called.
    Caller,
    /// Decides about calls that wait, and answers questions.
    Approver,
    /// Tools, agents, rules, switches, the kill switch.
    Operator,
    /// Everything, tokens and secrets too.
    Owner,
}

impl Role {
    /// All of them, the weakest first.
    pub const ALL: [Self; 5] =
        [Self::Viewer, Self::Caller, Self::Approver, Self::Operator, Self::Owner];

    /// Those that see arguments and results: all but the one that only looks.
    const SEE_PAYLOADS: [Self; 4] = [Self::Caller, Self::Approver, Self::Operator, Self::Owner];

    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Caller => "caller",
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            format!("there is no role \"{text}\"; viewer, caller, approver, operator, owner")
        })
    }
}

/// The roles of one token. Every role looks too, and the owner has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles(u8);

impl Roles {
    /// These.
    #[must_use]
    pub fn of(roles: &[Role]) -> Self {
        Self(roles.iter().fold(0, |all, role| all | 1 << *role as u8))
    }

    /// Whether what this role may do may be done.
    #[must_use]
    pub fn may(self, role: Role) -> bool {
        let has = |role: Role| self.0 & (1 << role as u8) != 0;
        has(role) || has(Role::Owner) || (role == Role::Viewer && self.0 != 0)
    }

    /// Those that were given, the weakest first.
    #[must_use]
    pub fn list(self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| self.0 & (1 << *role as u8) != 0).collect()
    }

    /// Whether none of them is beyond `other`.
    #[must_use]
    pub fn within(self, other: Self) -> bool {
        self.list().into_iter().all(|role| other.may(role))
    }
}

/// Whoever a request comes from. It is in every request that passed the door; as an argument of a handler it is always there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// As records name it, such as `token ci` or `owner@socket`.
    pub name: String,
    /// Whose rows it sees and writes; empty = the only owner there is.
    pub owner: String,
    /// What it may do.
    pub roles: Roles,
    /// Who is counted together by limits and fairness: the token, or the session of the page.
    pub client: String,
    /// Canonical names or globs of the tools that it may call; `None` = all in view.
    pub tools: Option<Vec<String>>,
    /// When its token ends, in milliseconds since 1970; `None` = when it is revoked.
    pub expires_at: Option<i64>,
}

impl Principal {
    /// Whether what this role may do may be done.
    #[must_use]
    pub fn may(&self, role: Role) -> bool {
        self.roles.may(role)
    }

    /// Whether arguments and results are shown: a token that only looks does not see them.
    #[must_use]
    pub fn sees_payloads(&self) -> bool {
        Role::SEE_PAYLOADS.into_iter().any(|role| self.may(role))
    }

    /// Refuses to end what somebody else began (`by`, as records name them) with a token that is limited to some tools.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn must_not_meddle(&self, by: &str) -> Result<(), Problem> {
        if self.name == by || self.tools.is_none() {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!(
                "it was begun by {by}, and the token of {} is limited to some tools",
                self.name
            ),
        ))
    }

    /// Refuses to lead what somebody else began: it would do so with their tools and in their name.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn must_lead(&self, by: &str) -> Result<(), Problem> {
        self.must_not_meddle(by)?;
        if self.name == by || self.may(Role::Approver) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!(
                "it was begun by {by}, whose tools it has: only they, or an approver, may lead it"
            ),
        ))
    }

    /// Refuses with the role that is missing.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn must(&self, role: Role) -> Result<(), Problem> {
        if self.may(role) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_looks_and_the_owner_does_everything() {
        for given in Role::ALL {
            for wanted in Role::ALL {
                let may = given == wanted || given == Role::Owner || wanted == Role::Viewer;
                assert_eq!(Roles::of(&[given]).may(wanted), may, "{given} {wanted}");
            }
        }
        assert!(!Roles::default().may(Role::Viewer));
        assert!(Roles::of(&[Role::Caller]).within(Roles::of(&[Role::Owner])));
        assert!(!Roles::of(&[Role::Owner]).within(Roles::of(&[Role::Operator])));
        assert_eq!("operator".parse(), Ok(Role::Operator));
        assert!("root".parse::<Role>().is_err());
    }
}
