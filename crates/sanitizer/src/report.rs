//! The report of a sanitized text: changes and flags.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// Longest example stored in a report, in characters; enough to recognize the place.
const EXAMPLE_CHARS: usize = 80;

/// Maximum number of flags stored for one text; more would add no information.
const MAX_FLAGS: usize = 16;

/// The kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Invalid UTF-8, each sequence replaced by U+FFFD.
    InvalidUtf8,
    /// A byte order mark at the start, removed.
    ByteOrderMark,
    /// A control token or tool-call markup of a provider, escaped.
    ControlToken,
    /// A line that opens a conversation turn (`Human:`), escaped.
    TurnMarker,
    /// Characters that no reader can see and no script needs at that place, written out as
    /// `\u200B`.
    Invisible,
    /// Characters that control a terminal, written in caret notation.
    Terminal,
    /// An image that would be fetched from a remote host, escaped to plain text.
    RemoteImage,
    /// Text that a page hides from its readers, removed.
    HiddenText,
}

/// One kind of change: number of occurrences, and the first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The kind of change.
    pub kind: ChangeKind,
    /// Number of places (for [`ChangeKind::Invisible`]: number of characters).
    pub count: usize,
    /// The first occurrence as shown in the output, at most 80 characters.
    pub example: String,
    /// The provider of the first control token, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'static str>,
}

impl fmt::Display for Change {
    /// Writes one line, for models, traces and people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ChangeKind::InvalidUtf8 => "bytes that are not UTF-8, replaced",
            ChangeKind::ByteOrderMark => "byte order mark, removed",
            ChangeKind::ControlToken => {
                "control token or tool-call markup, escaped with a backslash"
            }
            ChangeKind::TurnMarker => "conversation turn marker, escaped with a backslash",
            ChangeKind::Invisible => "invisible character, written out",
            ChangeKind::Terminal => "terminal control character, written out",
            ChangeKind::RemoteImage => "remote image, escaped with a backslash",
            ChangeKind::HiddenText => "element that the page hides, left out",
        };
        write!(f, "{} x {what}", self.count)
    }
}

/// The goal of a plain-language order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// Tells the reader to drop its instructions.
    OverrideInstructions,
    /// Gives the reader another role or announces new instructions.
    NewRole,
    /// Asks the reader to hide something from the user.
    HideFromUser,
    /// Asks for the system prompt or the instructions.
    RevealPrompt,
    /// Asks to send private data somewhere.
    SendData,
    /// Orders a tool call.
    ForceTool,
    /// Addresses the model behind the reader.
    AddressModel,
    /// A link with a query that can exfiltrate data (`?data={conversation}`).
    DataLink,
    /// A link that runs a script or contains a page (`javascript:`).
    ScriptLink,
    /// Claims to come from the system, its developer or an administrator, and gives an order.
    ClaimAuthority,
    /// Orders the reader to decode text and to follow it.
    EncodedOrder,
    /// JSON in the form of a model's tool call, or of a request that causes one.
    ForgedCall,
    /// JSON in the form of a model's answer.
    ForgedTurn,
    /// Text that is invisible after rendering.
    HiddenText,
}

/// A suspicion about the text, which stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// The kind of suspicion.
    pub kind: FlagKind,
    /// The words that caused the flag, folded (lower case, invisible characters removed).
    pub example: String,
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FlagKind::OverrideInstructions => "tells the reader to drop its instructions",
            FlagKind::NewRole => "gives the reader another role",
            FlagKind::HideFromUser => "asks for silence towards the user",
            FlagKind::RevealPrompt => "asks for the prompt",
            FlagKind::SendData => "asks to send data away",
            FlagKind::ForceTool => "orders a tool call",
            FlagKind::AddressModel => "addresses the model",
            FlagKind::DataLink => "carries data out in a link",
            FlagKind::ScriptLink => "has a link that runs a script",
            FlagKind::ClaimAuthority => "claims authority for an order",
            FlagKind::EncodedOrder => "orders to follow encoded text",
            FlagKind::ForgedCall => "looks like a tool call",
            FlagKind::ForgedTurn => "looks like a model's answer",
            FlagKind::HiddenText => "hides text",
        };
        write!(f, "{what}: {}", self.example)
    }
}

/// Collects changes and flags while the text passes through the steps.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) changes: Vec<Change>,
    pub(super) flags: Vec<Flag>,
}

impl Report {
    /// Counts `count` changes of a kind; calls `example` only the first time.
    pub(super) fn change<'a>(
        &mut self,
        kind: ChangeKind,
        count: usize,
        provider: Option<&'static str>,
        example: impl FnOnce() -> Cow<'a, str>,
    ) {
        if let Some(change) = self.changes.iter_mut().find(|change| change.kind == kind) {
            change.count += count;
        } else {
            let example = example().chars().take(EXAMPLE_CHARS).collect();
            self.changes.push(Change { kind, count, example, provider });
        }
    }

    /// Counts removed elements of a page.
    pub(super) fn left_out(&mut self, elements: usize) {
        if elements > 0 {
            self.change(ChangeKind::HiddenText, elements, None, || Cow::Borrowed(""));
        }
    }

    /// Adds a flag unless the same words caused it before.
    pub(super) fn flag(&mut self, kind: FlagKind, words: &str) {
        let example: String =
            words.chars().filter(|c| !c.is_control()).take(EXAMPLE_CHARS).collect();
        let flag = Flag { kind, example };
        if self.flags.len() < MAX_FLAGS && !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }
}
