//! Mail against real servers: Dovecot reads and submits, and servers that lie or hang.
#![expect(clippy::unwrap_used, reason = "a failed step of a test is its failure")]

mod dovecot;
mod fixture;
mod hostile;
mod killed;
mod oauth;
mod own_drafts;
mod received;
mod watch;
