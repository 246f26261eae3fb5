//! `toolcrib mail`.

use clap::{Args, Subcommand};

pub(super) const MAIL_HELP: &str = "\
Examples:
  toolcrib mail add ann@example.org
  toolcrib mail add ann@nas.lan --imap-host nas.lan --smtp-host nas.lan --own-network
  toolcrib mail test

The password is typed at the terminal, unseen, or read from standard input; an app password where the provider has them. It is kept in the vault.";

#[derive(Debug, Subcommand)]
pub(crate) enum Mail {
    /// Add an account: logs in at both servers, then saves it.
    Add(AddMail),
    /// List the accounts.
    List,
    /// Log in at both servers of an account.
    Test {
        /// Its id or address. Default: the only one.
        account: Option<String>,
    },
    /// Remove an account and its password.
    Rm {
        /// Its id or address.
        account: String,
    },
}

/// An account to add.
#[derive(Debug, Args)]
pub(crate) struct AddMail {
    /// The mail address.
    pub(crate) address: String,
    /// A short name for it.
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The sender's name in mails.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The user name at the servers. Default: the address.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// IMAP server. Default: the usual one of the domain.
    #[arg(long)]
    pub(crate) imap_host: Option<String>,
    /// Its port; 143 uses STARTTLS, all others TLS.
    #[arg(long, default_value_t = 993)]
    pub(crate) imap_port: u16,
    /// SMTP server. Default: the usual one of the domain.
    #[arg(long)]
    pub(crate) smtp_host: Option<String>,
    /// Its port; 25 and 587 use STARTTLS, all others TLS.
    #[arg(long, default_value_t = 587)]
    pub(crate) smtp_port: u16,
    /// The servers are in a private network.
    #[arg(long)]
    pub(crate) own_network: bool,
}
