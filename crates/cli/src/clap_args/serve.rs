//! `toolcrib serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;

use super::log_options::LogArgs;
use super::shared::{ModelArgs, WorkspaceArgs};

pub(crate) const SERVE_HELP: &str = "\
Examples:
  toolcrib serve --workspace ~/projects/mine
  toolcrib serve --listen 127.0.0.1:0 --json
  toolcrib serve --no-tcp
  curl -H \"Authorization: Bearer $(toolcrib token show)\" http://127.0.0.1:8717/api/v1/tools

It stays in the foreground; `toolcrib daemon service install` lets the system start it. The first interrupt lets calls and runs come to a step where \
they can be taken up again, the second one leaves at once. A changed configuration is used without a restart, also on SIGHUP and with \
`toolcrib daemon reload` (docs/daemon.md).

Exit codes: 0 it was stopped, 1 it could not listen, 3 the set-up is wrong.";

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// TCP address; port 0 = any free one. Default: 127.0.0.1:8717, or `listen` of the section
    /// [server].
    #[arg(long, value_name = "ADDR", conflicts_with = "no_tcp")]
    pub(crate) listen: Option<SocketAddr>,
    /// Listen on the socket alone.
    #[arg(long)]
    pub(crate) no_tcp: bool,
    /// Socket for programs of the same user. Default: in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Certificate chain, a PEM file: what other addresses than loopback need.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Host name by which it may be asked for, with its port if it has one; may be repeated. Its
    /// own addresses on this machine always do.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Origin whose pages may ask, such as https://example.org; may be repeated. Default: only its
    /// own.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// Proxy in front of it that speaks TLS, by address or network; may be repeated. What it says
    /// of its clients is believed.
    #[arg(long, value_name = "ADDR", value_parser = parse_proxy)]
    pub(crate) trusted_proxy: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) logging: LogArgs,
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

/// An address is a network of one.
fn parse_proxy(text: &str) -> Result<IpNet, String> {
    let address = text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    address
        .or_else(|_| text.parse())
        .map_err(|_| format!("`{text}` is no address or network; write 10.0.0.2 or 10.0.0.0/24"))
}
