//! The way back to whoever called.
