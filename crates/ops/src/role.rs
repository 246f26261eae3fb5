//! Roles of tokens, and the sets of them that tokens hold.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The permissions of a principal.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads lists, states and histories, without arguments and results of calls.
    Viewer,
    /// Calls tools as policy allows, and reads its calls.
    Caller,
    /// Decides approvals and answers questions.
    Approver,
    /// Changes tools, agents, rules, feature switches and the kill switch.
    Operator,
    /// Everything, including tokens and secrets.
    Owner,
}

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Self; 5] =
        [Self::Viewer, Self::Caller, Self::Approver, Self::Operator, Self::Owner];

    /// The roles that may see arguments and results.
    pub const SEE_PAYLOADS: [Self; 4] = [Self::Caller, Self::Approver, Self::Operator, Self::Owner];

    /// Returns the name in the API.
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

/// The roles of one token. Every role includes viewer, and owner includes all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles(u8);

impl Roles {
    /// Creates the set of these roles.
    #[must_use]
    pub fn from_roles(roles: &[Role]) -> Self {
        Self(roles.iter().fold(0, |all, role| all | 1 << *role as u8))
    }

    /// Returns whether the set includes this role.
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        let has = |role: Role| self.0 & (1 << role as u8) != 0;
        has(role) || has(Role::Owner) || (role == Role::Viewer && self.0 != 0)
    }

    /// Returns the roles as they were given, the weakest first.
    #[must_use]
    pub fn list(self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| self.0 & (1 << *role as u8) != 0).collect()
    }

    /// Returns whether `other` includes all of them.
    #[must_use]
    pub fn is_subset_of(self, other: Self) -> bool {
        self.list().into_iter().all(|role| other.allows(role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_includes_viewer_and_owner_includes_all() {
        for given in Role::ALL {
            for wanted in Role::ALL {
                let may = given == wanted || given == Role::Owner || wanted == Role::Viewer;
                assert_eq!(Roles::from_roles(&[given]).allows(wanted), may, "{given} {wanted}");
            }
        }
        assert!(!Roles::default().allows(Role::Viewer));
        assert!(Roles::from_roles(&[Role::Caller]).is_subset_of(Roles::from_roles(&[Role::Owner])));
        assert!(
            !Roles::from_roles(&[Role::Owner]).is_subset_of(Roles::from_roles(&[Role::Operator]))
        );
        assert_eq!("operator".parse(), Ok(Role::Operator));
        assert!("root".parse::<Role>().is_err());
    }
}
