//! Limits of drafts.

/// Characters of a text.
pub const MAX_BODY_CHARS: usize = 100_000;
/// Characters of a subject: a line of a mail has at most 998 (RFC 5322, 2.1.1).
pub const MAX_SUBJECT_CHARS: usize = 900;
/// Recipients of one draft: a person has to be able to read them.
pub const MAX_RECIPIENTS: usize = 50;
/// Drafts of one owner that wait. None is dropped for another: it may be all that is left of a
/// text.
pub const MAX_WAITING: usize = 50;
