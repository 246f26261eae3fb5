//! Persons behind the names in records.

use toolcrib_core::TokenId;

/// Prefix of the names of tokens in records.
const TOKEN_PREFIX: &str = "token ";

/// The person behind a name in records. Four eyes require two different persons, regardless of the
/// surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person<'a> {
    /// The owner of the daemon: on the socket, with the token of this machine, on the page, at the
    /// command line, and through an MCP client that the owner started.
    Owner,
    /// The holder of a token, by its name in records.
    Token(&'a str),
}

impl<'a> Person<'a> {
    /// Returns the name in records of a token with this name and id. The name ends with the id, so
    /// that a name that a person chose cannot imitate another token.
    #[must_use]
    pub fn token_name(name: &str, id: TokenId) -> String {
        format!("{TOKEN_PREFIX}{name} ({id})")
    }

    /// Returns the person of a name in records.
    #[must_use]
    pub fn of_record(name: &'a str) -> Self {
        if name.starts_with(TOKEN_PREFIX) { Self::Token(name) } else { Self::Owner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_on_two_surfaces_is_one_person_and_each_token_is_another() {
        let [first, second] = [TokenId::fresh(), TokenId::fresh()];
        let [first, second] = [first, second].map(|id| Person::token_name("ci", id));
        for surface in ["owner", "owner@socket", "", "mcp client"] {
            assert_eq!(Person::of_record(surface), Person::Owner, "{surface}");
        }
        assert_ne!(Person::of_record(&first), Person::Owner);
        assert_ne!(Person::of_record(&first), Person::of_record(&second));
    }
}
