//! The fields of a profile: how much of each is read and how much a word in it counts.

use crate::profile::{MOST_PARAMETERS, Profile};
use crate::text::{cut, split, split_into};

/// Bytes of a name or a server's name.
const NAME_BYTES: usize = 256;
/// Bytes of a description or a guide.
const TEXT_BYTES: usize = 4096;
/// Bytes of a parameter's description or of an example.
const SMALL_BYTES: usize = 512;
/// Examples that are read (SPEC 5.1).
const MOST_EXAMPLES: usize = 8;

/// What a word counts, in halves so that sums stay exact: name 3, server 2, description 1, parameters 0.5 (issue 8). Aliases are other
/// names, but a tool with many of them must not look like many tools.
const NAME: u32 = 6;
const SERVER: u32 = 4;
const TEXT: u32 = 2;
const PARAMETERS: u32 = 1;

/// A text of a profile.
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    /// What each of its words counts, in halves.
    pub(super) weight: u32,
    /// Whether it is prose, where a word with capitals inside is a name like "GitHub" and no identifier.
    pub(super) prose: bool,
    /// Whether it is the name.
    pub(super) is_name: bool,
}

/// Gives every text of a profile.
pub(super) fn each(profile: &Profile, mut give: impl FnMut(Text<'_>)) {
    let name = cut(&profile.name, NAME_BYTES);
    give(Text { text: name, weight: NAME, prose: false, is_name: true });
    let mut word = |text, weight| give(Text { text, weight, prose: false, is_name: false });
    for parameter in profile.parameters.iter().take(MOST_PARAMETERS) {
        word(cut(&parameter.name, NAME_BYTES), PARAMETERS);
        word(cut(&parameter.description, SMALL_BYTES), PARAMETERS);
    }
    let mut prose = |text, weight| give(Text { text, weight, prose: true, is_name: false });
    prose(cut(&profile.server, NAME_BYTES), SERVER);
    prose(cut(&profile.description, TEXT_BYTES), TEXT);
    prose(cut(&profile.guide, TEXT_BYTES), PARAMETERS);
    for example in profile.examples.iter().take(MOST_EXAMPLES) {
        prose(cut(example, SMALL_BYTES), TEXT);
    }
}

/// The texts that are embedded, with the share of each in the tool's vector. The forms are those of the model's training.
pub(super) fn views(profile: &Profile) -> [(String, f32); 4] {
    let name = split(cut(&profile.name, NAME_BYTES));
    let mut short = split(cut(&profile.server, NAME_BYTES));
    if !short.is_empty() {
        short.push(' ');
    }
    short.push_str(&name);
    short.push_str(": ");
    short.push_str(cut(&profile.description, TEXT_BYTES));
    let mut parameters = String::new();
    for parameter in profile.parameters.iter().take(MOST_PARAMETERS) {
        split_into(cut(&parameter.name, NAME_BYTES), &mut parameters);
        parameters.push(' ');
        parameters.push_str(cut(&parameter.description, SMALL_BYTES));
        parameters.push(' ');
    }
    let mut examples = cut(&profile.guide, TEXT_BYTES).to_owned();
    for example in profile.examples.iter().take(MOST_EXAMPLES) {
        examples.push(' ');
        examples.push_str(cut(example, SMALL_BYTES));
    }
    // The first three are the model's own mix, with a little less of the name: it is in the second text too.
    [(name, 0.2), (short, 0.7), (parameters, 0.1), (examples, 0.3)]
}

/// The names under which a profile can be asked for, as [`super::exact`] compares them.
pub(super) fn names(profile: &Profile) -> impl Iterator<Item = String> {
    let own = std::iter::once(&profile.name).chain(&profile.aliases);
    own.map(|name| cut(name.trim(), NAME_BYTES).to_lowercase()).filter(|name| !name.is_empty())
}
