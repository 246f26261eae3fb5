//! Changes by a repair or a conversion: the record that a caller shows, stores and audits.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

use serde::Serialize;

/// Maximum number of changes stored per decoded text; a final entry then counts the others. A
/// million trailing commas must not become a million records.
pub const MAX_CHANGES: usize = 50;

/// One change between the text of the model and the value passed to the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// JSON Pointer (RFC 6901) of the value concerned; empty for the whole arguments.
    pub path: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// One sentence for a person or a model: the text found and its interpretation.
    pub note: String,
}

/// The kinds of changes. The first group repairs text, the second converts values by the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A byte-order mark was removed.
    ByteOrderMark,
    /// Whitespace that is not JSON whitespace was removed around the text.
    Whitespace,
    /// A Markdown code fence around the whole text was removed.
    CodeFence,
    /// The object had been encoded as a JSON string.
    DoubleEncoded,
    /// The text was `null`, read as no arguments.
    NullArguments,
    /// A comma before a closing bracket was removed.
    TrailingComma,
    /// A comma before the first entry, after another comma or after the object was removed.
    ExtraComma,
    /// A comma between two complete entries was missing and was added.
    MissingComma,
    /// A colon between a key and its value was missing and was added.
    MissingColon,
    /// A closing brace after the object was removed.
    ExtraBrace,
    /// Words around the object were removed.
    SurroundingText,
    /// The object was wrapped in an array.
    ArrayOfOne,
    /// The same object was sent twice.
    RepeatedObject,
    /// Every quote of the object was escaped.
    EscapedQuotes,
    /// `True`, `False` or `None` was read as `true`, `false` or `null`.
    PythonLiteral,
    /// `undefined` was read as the absence of the parameter.
    UndefinedRemoved,
    /// `dict(name=value)` was read as an object.
    PythonDict,
    /// A single-quoted string was read as a string.
    SingleQuotes,
    /// A string between typographic quotes was read as a string.
    TypographicQuotes,
    /// A template literal of JavaScript was read as a string.
    TemplateLiteral,
    /// A raw string of Python was read as a string.
    RawString,
    /// An identifier without quotes was read as a key.
    UnquotedKey,
    /// A comment was removed.
    Comment,
    /// A raw control character inside a string was preserved.
    ControlCharacter,
    /// A backslash before a character that JSON cannot escape was read as a literal backslash.
    InvalidEscape,
    /// An escape with two hexadecimal digits was read as its character.
    HexEscape,
    /// A number with a plus sign, digit separators or no digit before its point was read.
    NumberSyntax,
    /// A number that is too small for a 64-bit float was read as zero.
    Underflow,
    /// A key occurred twice with equal values.
    DuplicateKey,
    /// The first or the last brace was missing and was added.
    MissingBrace,
    /// A string of digits became a number, or a whole float became an integer.
    ToNumber,
    /// A string became a boolean.
    ToBoolean,
    /// An integer became the string of its digits.
    ToString,
    /// A string that contained JSON became that array or object.
    ParsedString,
    /// A single value became an array with one element.
    ToArray,
    /// The letter case of an enum value was corrected.
    EnumCase,
    /// A `null` of an optional parameter was removed.
    NullRemoved,
    /// The parameters were inside an outer object, which was removed.
    Unwrapped,
    /// A parameter was sent under one of its other names.
    Renamed,
    /// More changes of any kind than the list contains.
    More,
}

/// A bounded list of changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: Vec<Change>,
    unlisted: usize,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a change; calls `render` only while the list has room, so a long list stays cheap.
    pub(super) fn add(&mut self, kind: ChangeKind, render: impl FnOnce() -> (String, String)) {
        if self.list.len() < MAX_CHANGES {
            let (path, note) = render();
            self.list.push(Change { path, kind, note });
        } else {
            self.unlisted += 1;
        }
    }

    /// Returns the current counts, to detect later additions.
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.list.len(), self.unlisted)
    }

    /// Removes the changes that were added since a mark.
    pub(super) fn restore(&mut self, (listed, unlisted): (usize, usize)) {
        self.list.truncate(listed);
        self.unlisted = unlisted;
    }

    /// Returns whether the list contains a change of this kind.
    pub(super) fn has(&self, kind: ChangeKind) -> bool {
        self.list.iter().any(|change| change.kind == kind)
    }

    pub(super) fn append(&mut self, other: Self) {
        for change in other.list {
            self.add(change.kind, || (change.path, change.note));
        }
        self.unlisted += other.unlisted;
    }

    pub(super) fn finish(mut self) -> Vec<Change> {
        if self.unlisted > 0 {
            let note = format!("{} more changes of the same sorts are not listed", self.unlisted);
            self.list.push(Change { path: String::new(), kind: ChangeKind::More, note });
        }
        self.list
    }
}

/// Appends `/key` to a JSON Pointer, escaped by RFC 6901. Very long keys are shortened: a report
/// identifies a place and must not repeat a megabyte.
pub(super) fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for c in super::value_preview::shorten(key, 80).chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// Appends `/index` to a JSON Pointer.
pub(super) fn push_index(pointer: &mut String, index: usize) {
    let _ = write!(pointer, "/{index}");
}
