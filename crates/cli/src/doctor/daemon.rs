//! The daemon: does it answer, and what did one that died leave behind?

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use toolcrib_server::SOCKET_PATH_BYTES;

use super::Finding;
use crate::config::{self, Env};
use crate::daemon::client::Client;
use crate::daemon::{DaemonPaths, tcp_url};
use crate::output::Failure;

const NAME: &str = "daemon";

pub(super) async fn check(fix: bool) -> Result<Vec<Finding>, Failure> {
    let place = DaemonPaths::current()?;
    let mut found = Vec::new();
    let socket = section().socket.unwrap_or_else(|| place.socket_path());
    if socket.as_os_str().len() > SOCKET_PATH_BYTES {
        let words = format!("the path of the socket is too long: {}", socket.display());
        found.push(
            Finding::warn(NAME, words)
                .with_fix("name a shorter one: `socket` in the section [server]"),
        );
    }
    match Client::connect_own().await {
        Ok(Some(client)) => {
            let at = place.running_address().ok().flatten().as_ref().and_then(tcp_url);
            let at = at.map(|url| format!(" at {url}")).unwrap_or_default();
            let (version, seconds) = (&client.health.version, client.health.up_seconds);
            found.push(Finding::ok(NAME, format!("{version} answers{at}, for {seconds} s")));
        }
        Ok(None) => {
            found.extend(stale_files(&place, fix));
            found.push(port());
        }
        Err(failure) => found.push(Finding::fail(NAME, failure.message)),
    }
    Ok(found)
}

/// What a daemon that is gone has left.
fn stale_files(place: &DaemonPaths, fix: bool) -> Vec<Finding> {
    let socket = match place.last_address() {
        Ok(None) => return Vec::new(),
        Ok(Some(address)) => address.unix,
        // A file that cannot be read is treated as missing.
        Err(_) => None,
    };
    let files = [Some(place.address_file()), socket];
    let files: Vec<_> =
        files.into_iter().flatten().filter(|path| path.symlink_metadata().is_ok()).collect();
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let words = format!("a daemon that died left {}", names.join(" and "));
    if !fix {
        return vec![
            Finding::warn(NAME, words)
                .with_fix("the next start replaces it, `toolcrib doctor --fix` removes it"),
        ];
    }
    let removed: Result<(), _> =
        files.iter().try_for_each(|path: &std::path::PathBuf| remove(path));
    vec![match removed {
        Ok(()) => Finding::fixed(NAME, format!("{words}; it is removed")),
        Err(error) => Finding::warn(NAME, format!("{words}, and it cannot be removed: {error}")),
    }]
}

fn remove(path: &Path) -> std::io::Result<()> {
    fs::remove_file(path)
}

/// How one would listen; a configuration that does not hold is another check's business.
fn section() -> config::ServerSection {
    config::load(&Env::from_process(), None).map(|config| config.server).unwrap_or_default()
}

/// Whether one could listen.
fn port() -> Finding {
    let section = section();
    if section.tcp == Some(false) {
        return Finding::ok(NAME, "none runs; it would listen on its socket");
    }
    let address = section.listen.unwrap_or(config::DEFAULT_LISTEN);
    match TcpListener::bind(address) {
        Ok(_) => Finding::ok(NAME, format!("none runs; {address} is free for one")),
        Err(error) => {
            Finding::warn(NAME, format!("none runs, and {address} cannot be listened on: {error}"))
                .with_fix("name another address: `toolcrib config set server.listen 127.0.0.1:0`")
        }
    }
}
