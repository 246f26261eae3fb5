//! Limits of drafts.

/// Maximum characters of a text.
pub const MAX_BODY_CHARS: usize = 100_000;
/// Maximum characters of a subject: a line of a mail has at most 998 (RFC 5322, 2.1.1).
pub const MAX_SUBJECT_CHARS: usize = 900;
/// Maximum recipients of one draft: a person must be able to read them.
pub const MAX_RECIPIENTS: usize = 50;
/// Maximum waiting drafts of one owner. A new draft never replaces a waiting one, which may be the
/// only copy of its text.
pub const MAX_WAITING: usize = 50;
