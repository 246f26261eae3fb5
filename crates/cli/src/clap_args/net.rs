//! `toolcrib net`.

use clap::{Args, Subcommand};

use super::shared::parse_net_target;

#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Check whether HTTP tools may connect to a URL, to which address, and which rule decides.
    #[command(after_help = "Exit codes: 0 allowed, 5 denied; with --lines: 0 for every verdict.")]
    Check(NetCheck),
}

#[derive(Debug, Args)]
pub(crate) struct NetCheck {
    /// The URL; omitted with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) url: Option<String>,
    /// DNS answer to use instead of a lookup: HOST=ADDR[,ADDR…]; may be repeated.
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
    /// Target to treat as allowed by the owner: HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be
    /// repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Filter: reads one `{"id", "url", "dns"?}` and writes one `{"id", "verdict", "rule",
    /// "address"?}` per line.
    #[arg(long, conflicts_with = "url")]
    pub(crate) lines: bool,
}
