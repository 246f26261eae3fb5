//! `toolcrib mail`.

use clap::{Args, Subcommand};

pub(super) const MAIL_HELP: &str = "\
Examples:
  toolcrib mail add ann@example.org
  toolcrib mail add ann@nas.lan --imap-host nas.lan --smtp-host nas.lan --own-network
  toolcrib mail test

Type the password at the terminal, without echo, or pass it on standard input; use an app password where the provider offers them. The vault stores it.";

#[derive(Debug, Subcommand)]
pub(crate) enum Mail {
    /// Add an account: log in to both servers, then save it.
    Add(Box<AddMail>),
    /// List accounts.
    List,
    /// Test an account: log in to both servers.
    Test {
        /// Id or address of the account. Default: the only account.
        account: Option<String>,
    },
    /// Remove an account and its password.
    Rm {
        /// Id or address of the account.
        account: String,
    },
}

/// The account to add.
#[derive(Debug, Args)]
pub(crate) struct AddMail {
    /// Mail address.
    pub(crate) address: String,
    /// Short name of the account.
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Sender's name in mails.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// User name at the servers. Default: the mail address.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// IMAP server. Default: the usual server of the domain.
    #[arg(long)]
    pub(crate) imap_host: Option<String>,
    /// IMAP port; 143 uses STARTTLS, all others TLS.
    #[arg(long, default_value_t = 993)]
    pub(crate) imap_port: u16,
    /// SMTP server. Default: the usual server of the domain.
    #[arg(long)]
    pub(crate) smtp_host: Option<String>,
    /// SMTP port; 25 and 587 use STARTTLS, all others TLS.
    #[arg(long, default_value_t = 587)]
    pub(crate) smtp_port: u16,
    /// The servers are in a private network.
    #[arg(long)]
    pub(crate) own_network: bool,
    /// Log in by OAuth in a browser, with this client id, instead of a password. Default server:
    /// Microsoft.
    #[arg(long, value_name = "ID")]
    pub(crate) oauth_client: Option<String>,
    /// With --oauth-client: the device authorization endpoint of another server.
    #[arg(long, value_name = "URL", requires_all = ["oauth_client", "oauth_token_url", "oauth_scope"])]
    pub(crate) oauth_device_url: Option<String>,
    /// With --oauth-device-url: the token endpoint.
    #[arg(long, value_name = "URL", requires = "oauth_device_url")]
    pub(crate) oauth_token_url: Option<String>,
    /// With --oauth-device-url: the requested scopes, separated by spaces.
    #[arg(long, value_name = "SCOPE", requires = "oauth_device_url")]
    pub(crate) oauth_scope: Option<String>,
}
