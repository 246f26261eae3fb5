//! `toolcrib open`: opens the page in a browser, signed in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolcrib_server::DaemonAddress;

use crate::bootstrap;
use crate::clap_args::Open;
use crate::daemon::client::{ApiRequest, Client, unreachable};
use crate::daemon::{DaemonPaths, tcp_url};
use crate::output::{self, Failure};

/// The program that opens an address in the person's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

pub(crate) fn run(command: &Open, json: bool) -> Result<u8, Failure> {
    let (page, url) = bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let page = page_address(&client)?;
        let reply = client.send(&ApiRequest::post("/api/v1/session/code", &json!({}))).await?;
        let code = reply.into_result()?;
        let code = code.get("code").and_then(Value::as_str).unwrap_or_default();
        Ok::<_, Failure>((page.clone(), format!("{page}/#code={code}")))
    })?;
    if json {
        output::print_json(&json!({"url": url}), true)?;
        return Ok(0);
    }
    if command.print {
        output::print_line(&url)?;
        return Ok(0);
    }
    if start_browser(&url) {
        output::eprint_line(&format!("toolcrib: opened {page}"));
    } else {
        output::eprint_line(&format!(
            "toolcrib: {OPENER} cannot open a browser here; open this address within a minute:"
        ));
        output::print_line(&url)?;
    }
    Ok(0)
}

/// Returns the address of the page.
fn page_address(client: &Client) -> Result<String, Failure> {
    if !client.is_own() {
        return Ok(client.to_string().trim_end_matches('/').to_owned());
    }
    let address = DaemonPaths::current()?.running_address()?;
    address.map(|address| reachable(&address)).as_ref().and_then(tcp_url).ok_or_else(|| {
        unreachable(
            "the daemon listens on its socket only, which no browser can open; start it with `--listen 127.0.0.1:8717`",
        )
    })
}

/// Returns a reachable address: a daemon that listens on every address is reached on loopback.
fn reachable(address: &DaemonAddress) -> DaemonAddress {
    let mut address = address.clone();
    address.tcp = address.tcp.map(|tcp| match tcp.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), tcp.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv6Addr::LOCALHOST.into(), tcp.port())
        }
        _ => tcp,
    });
    address
}

/// Starts a browser; returns whether that succeeded. The opener ends after it has passed the
/// address on.
fn start_browser(url: &str) -> bool {
    let mut command = Command::new(OPENER);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
