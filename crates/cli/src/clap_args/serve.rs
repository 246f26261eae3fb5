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

The daemon stays in the foreground; `toolcrib daemon service install` installs it as a service. The first interrupt lets calls finish and \
suspends runs at a step from which they resume; the second exits at once. The daemon reloads a changed configuration without a restart, also on \
SIGHUP and with `toolcrib daemon reload` (docs/daemon.md).

Exit codes: 0 stopped, 1 the address or socket is unavailable, 3 the configuration is invalid.";

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// TCP address to listen on; port 0 chooses a free port. Default: 127.0.0.1:8717, or `listen`
    /// of the section [server].
    #[arg(long, value_name = "ADDR", conflicts_with = "no_tcp")]
    pub(crate) listen: Option<SocketAddr>,
    /// Listen on the local socket only.
    #[arg(long)]
    pub(crate) no_tcp: bool,
    /// Path of the local socket. Default: in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Certificate chain, a PEM file: required for addresses other than loopback.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Host name that requests may use, with its port if it has one; may be repeated. The daemon's
    /// own addresses on this machine are always accepted.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Origin whose pages may send requests, such as https://example.org; may be repeated. Default:
    /// only the daemon's own.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// TLS-terminating proxy in front of the daemon, by address or network; may be repeated. Its
    /// forwarding headers are believed.
    #[arg(long, value_name = "ADDR", value_parser = parse_proxy)]
    pub(crate) trusted_proxy: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) logging: LogArgs,
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

/// Parses a proxy; a single address becomes a network of one address.
fn parse_proxy(text: &str) -> Result<IpNet, String> {
    let address = text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    address.or_else(|_| text.parse()).map_err(|_| {
        format!("`{text}` is not an address or network; write 10.0.0.2 or 10.0.0.0/24")
    })
}
