//! Names of flags that allow tools to roles: `[flags]`.

use serde::Deserialize;

/// A flag's name: `allow_TOOL`, `allow_TOOL_ROLE` or `allow_code_execution`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FlagName(pub(crate) String);

impl TryFrom<String> for FlagName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        match name.strip_prefix("allow_") {
            Some(rest) if !rest.is_empty() && rest.bytes().all(fits) => Ok(Self(name)),
            _ => Err("a flag is allow_TOOL, allow_TOOL_ROLE or allow_code_execution".to_owned()),
        }
    }
}
