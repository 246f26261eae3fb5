//! `toolcrib sms`.

use clap::{Args, Subcommand};

pub(super) const SMS_HELP: &str = "\
Examples:
  toolcrib sms add http://192.168.1.20:8080 --read
  toolcrib sms set --send true
  toolcrib sms show

The phone runs the app SMS Gateway for Android with its local server switched on. Type the password at the terminal, without echo, or pass it on standard input. The vault stores it.";

#[derive(Debug, Subcommand)]
pub(crate) enum Sms {
    /// Add the phone: test the password with the app, then save it.
    Add(AddPhone),
    /// Show the phone, and how many SMS are stored.
    Show,
    /// Test the password of the phone.
    Test,
    /// Allow or forbid reading and sending.
    Set(SetPhone),
    /// Remove the phone, its password and the stored SMS.
    Remove,
}

/// The phone to add.
#[derive(Debug, Args)]
pub(crate) struct AddPhone {
    /// Address of the app's server, such as http://192.168.1.20:8080.
    #[arg(value_name = "URL")]
    pub(crate) base_url: String,
    /// User name. Default: that of the app, sms.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Let models read the SMS that arrive from now on.
    #[arg(long)]
    pub(crate) read: bool,
    /// Let models write drafts of SMS, which you send.
    #[arg(long)]
    pub(crate) send: bool,
}

/// The opt-ins to change.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct SetPhone {
    /// Whether models may read the SMS that arrive from now on.
    #[arg(long)]
    pub(crate) read: Option<bool>,
    /// Whether models may write drafts of SMS, which you send.
    #[arg(long)]
    pub(crate) send: Option<bool>,
}
