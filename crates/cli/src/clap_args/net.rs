//! `toolcrib net`.

use clap::{Args, Subcommand};

use super::shared::parse_net_target;

#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Would our HTTP tools connect to this URL, to which address, and which rule says no?
    #[command(after_help = "Exit codes: 0 allow, 5 deny; with --lines 0 for any verdicts.")]
    Check(NetCheck),
}

#[derive(Debug, Args)]
pub(crate) struct NetCheck {
    /// The URL; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) url: Option<String>,
    /// Answers of name resolution to use instead of a look-up: HOST=ADDR[,ADDR…]; may be repeated.
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
    /// Target that counts as opened by the owner: HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be
    /// repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Filter: one `{"id", "url", "dns"?}` in and one `{"id", "verdict", "rule", "address"?}` out
    /// per line.
    #[arg(long, conflicts_with = "url")]
    pub(crate) lines: bool,
}
