//! Fields of a tool profile: length limits and weights.

use crate::text::{split, split_into, truncate};
use crate::tool_profile::{MAX_PARAMETERS, ToolProfile};

/// Maximum bytes of a name or a server's name.
const NAME_BYTES: usize = 256;
/// Maximum bytes of a description or a guide.
const TEXT_BYTES: usize = 4096;
/// Maximum bytes of a parameter's description or of an example.
const SMALL_BYTES: usize = 512;
/// Maximum number of examples and further needs.
const MOST_EXAMPLES: usize = 16;

/// Weights of words, in halves so that sums stay exact: name 3, server 2, description 1, parameters
/// 0.5. Aliases are names too, but a tool with many of them must not rank like many tools.
const NAME: u32 = 6;
const SERVER: u32 = 4;
const TEXT: u32 = 2;
const PARAMETERS: u32 = 1;

/// A text of a profile.
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    /// Weight of each word, in halves.
    pub(super) weight: u32,
    /// Whether it is prose, in which a word with inner capitals is a name like "GitHub" and not an
    /// identifier.
    pub(super) prose: bool,
    /// Whether it is the name.
    pub(super) is_name: bool,
}

/// Passes every text of a profile to `give`.
pub(super) fn each(profile: &ToolProfile, mut give: impl FnMut(Text<'_>)) {
    let name = truncate(&profile.name, NAME_BYTES);
    give(Text { text: name, weight: NAME, prose: false, is_name: true });
    let mut word = |text, weight| give(Text { text, weight, prose: false, is_name: false });
    for parameter in profile.parameters.iter().take(MAX_PARAMETERS) {
        word(truncate(&parameter.name, NAME_BYTES), PARAMETERS);
        word(truncate(&parameter.description, SMALL_BYTES), PARAMETERS);
    }
    let mut prose = |text, weight| give(Text { text, weight, prose: true, is_name: false });
    prose(truncate(&profile.server, NAME_BYTES), SERVER);
    prose(truncate(&profile.description, TEXT_BYTES), TEXT);
    prose(truncate(&profile.guide, TEXT_BYTES), PARAMETERS);
    for example in profile.examples.iter().take(MOST_EXAMPLES) {
        prose(truncate(example, SMALL_BYTES), TEXT);
    }
}

/// Returns the texts to embed with their shares of the tool's vector, in the forms used in the
/// model's training.
pub(super) fn views(profile: &ToolProfile) -> [(String, f32); 4] {
    let name = split(truncate(&profile.name, NAME_BYTES));
    let mut short = split(truncate(&profile.server, NAME_BYTES));
    if !short.is_empty() {
        short.push(' ');
    }
    short.push_str(&name);
    short.push_str(": ");
    short.push_str(truncate(&profile.description, TEXT_BYTES));
    let mut parameters = String::new();
    for parameter in profile.parameters.iter().take(MAX_PARAMETERS) {
        split_into(truncate(&parameter.name, NAME_BYTES), &mut parameters);
        parameters.push(' ');
        parameters.push_str(truncate(&parameter.description, SMALL_BYTES));
        parameters.push(' ');
    }
    let mut examples = truncate(&profile.guide, TEXT_BYTES).to_owned();
    for example in profile.examples.iter().take(MOST_EXAMPLES) {
        examples.push(' ');
        examples.push_str(truncate(example, SMALL_BYTES));
    }
    // The first three are the model's training mix, with a smaller share of the name because the
    // second text contains it too.
    [(name, 0.2), (short, 0.7), (parameters, 0.1), (examples, 0.3)]
}

/// Returns the names that match a profile, as compared by [`super::name_match`].
pub(super) fn names(profile: &ToolProfile) -> impl Iterator<Item = String> {
    let own = std::iter::once(&profile.name).chain(&profile.aliases);
    own.map(|name| truncate(name.trim(), NAME_BYTES).to_lowercase()).filter(|name| !name.is_empty())
}
