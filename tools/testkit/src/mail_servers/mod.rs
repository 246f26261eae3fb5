//! Mail servers on loopback: Dovecot, which reads and submits, and what takes the mail behind it.

mod certificate;
mod dovecot;
mod free_port;
mod mail_sink;

pub use certificate::certificate;
pub use dovecot::{Dovecot, PASSWORD};
pub use free_port::free_port;
pub use mail_sink::MailSink;
