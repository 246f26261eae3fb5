//! `toolcrib node`.

use std::net::SocketAddr;

use clap::Args;

use super::WorkspaceArgs;

pub(super) const NODE_HELP: &str = "\
Examples:
  toolcrib app pair                     # on the machine of the daemon: shows a code
  toolcrib node --offer read_file --offer list_dir --pair ABCD-EFGH --daemon http://192.168.1.10:8717 --listen 192.168.1.20:8718
  toolcrib app confirm                  # on the machine of the daemon: compare the fingerprint, choose risks
  toolcrib node --offer read_file --offer list_dir --listen 192.168.1.20:8718   # from then on

The daemon offers the tools as if_NAME__TOOL, under its own rules and approvals. The rules of this machine hold too; a call that they ask about is denied here.";

/// The tools to offer, and where.
#[derive(Debug, Args)]
pub(crate) struct Node {
    /// Tool of this machine to offer; may be repeated.
    #[arg(long, value_name = "TOOL", required = true)]
    pub(crate) offer: Vec<String>,
    /// Code that `toolcrib app pair` shows on the machine of the daemon. Without it, the earlier
    /// pairing is used.
    #[arg(long, value_name = "CODE", requires = "daemon")]
    pub(crate) pair: Option<String>,
    /// Address of the daemon: https://NAME, or http://ADDRESS:PORT in a private network.
    #[arg(long, value_name = "URL", requires = "pair")]
    pub(crate) daemon: Option<String>,
    /// Address and port on which this node listens.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8718")]
    pub(crate) listen: SocketAddr,
    /// Address at which the daemon reaches this node. Default: http:// and the address of --listen.
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Name of this node, 1 to 24 of a-z, 0-9 and `_`: the tools are if_NAME__TOOL. Default: the
    /// name of this machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}
