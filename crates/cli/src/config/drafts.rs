//! `[drafts]`: drafts that are sent without asking.

use serde::{Deserialize, Deserializer, de};
use toolcrib_assistant::draft::SendRule;

/// `[drafts]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DraftsSection {
    /// Recipients, each with its kind: `mail:ann@example.org`.
    #[serde(deserialize_with = "rules")]
    send_without_asking: Vec<SendRule>,
}

impl DraftsSection {
    /// Returns the rules.
    pub(super) fn rules(&self) -> Vec<SendRule> {
        self.send_without_asking.clone()
    }
}

fn rules<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<SendRule>, D::Error> {
    let written = Vec::<String>::deserialize(d)?;
    written.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}
