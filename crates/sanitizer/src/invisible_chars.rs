//! Identifies the characters that no reader can see, and the places where a script or an emoji
//! needs them.
//!
//! A character is checked only against its visible neighbours, and a neighbour that makes it
//! legitimate is never changed itself; so a preserved character is preserved again, and sanitizing
//! is idempotent. One such character per base is legitimate: a second one in a row has an invisible
//! neighbour and is written out.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Returns whether the character has no glyph: default-ignorable code points, format characters and
/// noncharacters (Unicode 16, DerivedCoreProperties and §23.7). Controls do not count; private-use
/// and unassigned characters are not hidden.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FDD0}'..='\u{FDEF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{13430}'..='\u{1343F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
        || (c as u32) & 0xFFFE == 0xFFFE
}

/// Returns whether the character is for private use. A font may show any glyph for it, and most
/// fonts show none.
pub(super) fn is_private_use(c: char) -> bool {
    matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}')
}

/// Returns whether it changes the direction of the text around it; [`super::bidi_controls`] handles
/// these characters.
pub(super) fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}')
}

/// The position of a hidden character.
pub(super) struct CharContext<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> CharContext<'a> {
    /// Creates the position of the character of `len` bytes at byte `at`.
    pub(super) fn new(text: &'a str, at: usize, len: usize) -> Self {
        Self {
            before: byte_scan::text_before(text, at),
            after: byte_scan::text_from(text, at + len),
        }
    }

    fn previous(&self) -> Option<char> {
        self.before.chars().next_back()
    }

    fn next(&self) -> Option<char> {
        self.after.chars().next()
    }

    /// Returns the letter to which the marks before this place belong. The search stops after more
    /// marks than a script ever stacks, which keeps the time linear.
    fn base(&self) -> Option<char> {
        const MOST_MARKS: usize = 8;
        let mut back = self.before.chars().rev().take(MOST_MARKS);
        let first = back.next()?;
        if is_invisible(first) || !is_inherited_mark(first) {
            return Some(first);
        }
        back.find(|&c| is_invisible(c) || !is_inherited_mark(c))
    }

    /// Returns whether a visible neighbour passes the test. No ASCII character does: all tests are
    /// for other scripts, and looking up the script of a character takes 30 ns.
    fn either_side(&self, test: impl Fn(char) -> bool) -> bool {
        let test = |c: char| !c.is_ascii() && !is_invisible(c) && test(c);
        self.base().is_some_and(&test) && !self.previous().is_some_and(is_invisible)
            || self.next().is_some_and(test) && !self.previous().is_some_and(is_invisible)
    }

    fn both_sides(&self, test: impl Fn(char) -> bool) -> bool {
        let test = |c: char| !is_invisible(c) && test(c);
        self.previous().is_some_and(&test) && self.next().is_some_and(test)
    }
}

/// Returns whether a hidden character other than a bidi control or a tag is needed at its position.
pub(super) fn is_needed(c: char, place: &CharContext<'_>) -> bool {
    match c {
        '\u{AD}' => place.both_sides(is_letter),
        '\u{34F}' => place.previous().is_some_and(|p| !is_invisible(p) && is_letter(p)),
        '\u{115F}' | '\u{1160}' => place.either_side(is_jamo),
        '\u{3164}' => place.either_side(|n| matches!(n, '\u{3131}'..='\u{318E}')),
        '\u{FFA0}' => place.either_side(|n| matches!(n, '\u{FFA1}'..='\u{FFDC}')),
        '\u{17B4}' | '\u{17B5}' => place.previous().is_some_and(|p| visible(p, Script::Khmer)),
        '\u{180B}'..='\u{180D}' | '\u{180F}' => {
            place.previous().is_some_and(|p| visible(p, Script::Mongolian))
        }
        '\u{180E}' => place.both_sides(|n| n.script() == Script::Mongolian),
        '\u{200B}' => place.either_side(breaks_without_spaces),
        '\u{200C}' => place.either_side(joins),
        // Emoji are the usual case, and checked in half the time.
        '\u{200D}' => joins_emoji(place) || place.either_side(joins),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            place.previous().is_some_and(|base| takes_selector(base, c))
        }
        '\u{13430}'..='\u{1343F}' => {
            place.either_side(|n| n.script() == Script::Egyptian_Hieroglyphs)
        }
        '\u{1BCA0}'..='\u{1BCA3}' => place.either_side(|n| n.script() == Script::Duployan),
        '\u{1D173}'..='\u{1D17A}' => place.either_side(|n| matches!(n, '\u{1D100}'..='\u{1D1FF}')),
        _ => false,
    }
}

/// Returns the length in bytes of the tags of a flag such as England's (U+1F3F4, 3 to 6 tag letters
/// or digits, U+E007F; UTS #51 ED-14a), if `place` is directly after the black flag.
pub(super) fn flag_tags(text: &str, at: usize) -> Option<usize> {
    if !byte_scan::text_before(text, at).ends_with('\u{1F3F4}') {
        return None;
    }
    let rest = byte_scan::text_from(text, at);
    let is_tag = |c: &char| matches!(c, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}');
    let letters = rest.chars().take(7).take_while(is_tag).count();
    let ends = rest.chars().nth(letters) == Some('\u{E007F}');
    (ends && (3..=6).contains(&letters)).then_some((letters + 1) * '\u{E0061}'.len_utf8())
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || is_combining_mark(c)
}

fn is_inherited_mark(c: char) -> bool {
    !c.is_ascii() && is_combining_mark(c) && c.script() == Script::Inherited
}

fn visible(c: char, script: Script) -> bool {
    !is_invisible(c) && c.script() == script
}

fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{D7B0}'..='\u{D7FF}')
}

/// Scripts written without spaces, in which U+200B marks the places for line breaks.
fn breaks_without_spaces(c: char) -> bool {
    use Script::{
        Balinese, Cham, Javanese, Khmer, Lao, Myanmar, New_Tai_Lue, Tai_Le, Tai_Tham, Tai_Viet,
        Thai, Tibetan,
    };
    matches!(
        c.script(),
        Thai | Lao
            | Khmer
            | Myanmar
            | Tibetan
            | Javanese
            | Balinese
            | Cham
            | Tai_Le
            | New_Tai_Lue
            | Tai_Tham
            | Tai_Viet
    )
}

/// Scripts whose letters change shape depending on their neighbours, so that joiners carry meaning
/// (Unicode §23.2, and the joiner contexts of RFC 5892 appendix A).
fn joins(c: char) -> bool {
    use Script::*;
    matches!(
        c.script(),
        Arabic
            | Syriac
            | Nko
            | Mandaic
            | Mongolian
            | Phags_Pa
            | Manichaean
            | Psalter_Pahlavi
            | Hanifi_Rohingya
            | Sogdian
            | Adlam
            | Hebrew
            | Thaana
            | Devanagari
            | Bengali
            | Gurmukhi
            | Gujarati
            | Oriya
            | Tamil
            | Telugu
            | Kannada
            | Malayalam
            | Sinhala
            | Myanmar
            | Khmer
            | Thai
            | Lao
            | Tibetan
            | Balinese
            | Javanese
            | Sundanese
            | Brahmi
            | Kaithi
            | Grantha
            | Chakma
            | Newa
            | Tirhuta
            | Modi
            | Sharada
            | Takri
            | Siddham
            | Khojki
            | Khudawadi
            | Meetei_Mayek
            | Syloti_Nagri
            | Limbu
            | Lepcha
            | Saurashtra
            | Tai_Tham
            | Buginese
            | Batak
            | Rejang
            | Tagalog
            | Nandinagari
            | Gunjala_Gondi
            | Masaram_Gondi
            | Dogra
            | Bhaiksuki
            | Soyombo
            | Zanabazar_Square
            | Marchen
    )
}

/// Returns whether the position is in an emoji sequence: emoji (with its selector or skin tone),
/// joiner, emoji (UTS #51 ED-16).
fn joins_emoji(place: &CharContext<'_>) -> bool {
    let mut back = place.before.chars().rev();
    let left = match back.next() {
        Some('\u{FE0F}') => back.next(),
        other => other,
    };
    left.is_some_and(is_pictograph) && place.next().is_some_and(is_pictograph)
}

fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

/// Returns whether the base has variants for this selector (StandardizedVariants, emoji-variation
/// sequences and the ideographic variation database, by class rather than by list).
fn takes_selector(base: char, selector: char) -> bool {
    match selector {
        '\u{FE0E}' | '\u{FE0F}' => base.is_emoji_char_or_emoji_component() && !is_invisible(base),
        '\u{E0100}'..='\u{E01EF}' => is_ideograph(base),
        '\u{FE00}'..='\u{FE02}' => {
            is_ideograph(base)
                || base == '0'
                || matches!(
                    base,
                    '‘' | '’'
                        | '“'
                        | '”'
                        | '、'
                        | '。'
                        | '！'
                        | '，'
                        | '．'
                        | '：'
                        | '；'
                        | '？'
                )
                || matches!(base.general_category(), GeneralCategory::MathSymbol)
                    && !base.is_ascii()
                || has_shaped_letters(base)
        }
        '\u{FE03}'..='\u{FE06}' => base.script() == Script::Egyptian_Hieroglyphs,
        _ => false,
    }
}

fn has_shaped_letters(c: char) -> bool {
    use Script::{Egyptian_Hieroglyphs, Manichaean, Myanmar, Phags_Pa};
    matches!(c.script(), Myanmar | Phags_Pa | Manichaean | Egyptian_Hieroglyphs) && !is_invisible(c)
}

fn is_ideograph(c: char) -> bool {
    c.script() == Script::Han && c.is_alphabetic()
}
