//! A command line as bash reads it, and as this crate does.
