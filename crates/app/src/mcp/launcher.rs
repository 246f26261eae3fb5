//! Launchers: programs that fetch a server from a package registry and run it. They run twice: once
//! to fetch, with the registry and without the workspace, and then without any network but the
//! server's own, from what was fetched. So the program of a server has no network because its
//! launcher needed one, and it stays the same until its owner fetches it again.

use std::path::Path;

use toolcrib_mcp::client::{Launcher, LauncherKind, Stdio};

/// What a launcher is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Fetch,
    Run,
}

/// File in the home of a server that says what was fetched there.
const FETCHED: &str = ".fetched";

/// Whether this package was fetched into this home.
pub(super) fn is_fetched(home: &Path, launcher: &Launcher) -> bool {
    std::fs::read_to_string(home.join(FETCHED)).is_ok_and(|text| text == fetched_text(launcher))
}

/// Remembers that it was.
pub(super) fn set_fetched(home: &Path, launcher: &Launcher) {
    // Without it, it is fetched again.
    let _ = std::fs::write(home.join(FETCHED), fetched_text(launcher));
}

/// Has the package of a server fetched again at its next start. `programs_home` is the home folder
/// of programs.
///
/// # Errors
/// Those of the file system.
pub fn fetch_again(programs_home: &Path, server: &str) -> std::io::Result<()> {
    let home = super::server_program::home_beside(programs_home, server);
    match std::fs::remove_file(home.join(FETCHED)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn fetched_text(launcher: &Launcher) -> String {
    let Launcher { kind, package, registry } = launcher;
    format!("{kind:?} {package} {registry}\n")
}

/// The hosts that it may reach in this phase.
pub(super) fn hosts(stdio: &Stdio, phase: Phase) -> Vec<String> {
    let Some(launcher) = stdio.launcher.as_ref().filter(|_| phase == Phase::Fetch) else {
        return stdio.allow_hosts.clone();
    };
    let mut hosts: Vec<String> = registry_host(&launcher.registry).into_iter().collect();
    if hosts.iter().any(|host| host.starts_with("pypi.org")) {
        // The index of PyPI names files on another host.
        hosts.push("files.pythonhosted.org".to_owned());
    }
    hosts
}

/// `NAME:PORT` of an address.
fn registry_host(registry: &str) -> Option<String> {
    let uri: http::Uri = registry.parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some(format!("{}:{port}", uri.host()?))
}

/// The command line in this phase.
pub(super) fn command_line(stdio: &Stdio, phase: Phase) -> (String, Vec<String>) {
    let command = stdio.command.clone();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match stdio.launcher.as_ref().filter(|_| phase == Phase::Fetch) {
        None => (command, stdio.args.clone()),
        Some(Launcher { kind: LauncherKind::Npx, package, .. }) => {
            (command, words(&["--yes", "--package", package, "--", "node", "--version"]))
        }
        Some(Launcher { kind: LauncherKind::Uvx, package, .. }) => {
            let run = stdio.args.iter().take_while(|arg| matches!(arg.as_str(), "tool" | "run"));
            let mut args: Vec<String> = run.cloned().collect();
            args.extend(words(&["--from", package, "python", "--version"]));
            (command, args)
        }
        Some(Launcher { kind: LauncherKind::Docker, package, .. }) => {
            (command, words(&["pull", "--quiet", package]))
        }
    }
}

/// The variables that a launcher reads.
pub(super) fn variables(stdio: &Stdio, phase: Phase) -> Vec<(String, String)> {
    let Some(Launcher { kind, registry, .. }) = &stdio.launcher else { return Vec::new() };
    let offline = phase == Phase::Run;
    let all: Vec<(&str, &str)> = match kind {
        LauncherKind::Npx => vec![
            ("npm_config_registry", registry),
            ("npm_config_yes", "true"),
            ("npm_config_offline", if offline { "true" } else { "false" }),
            ("npm_config_audit", "false"),
            ("npm_config_fund", "false"),
            ("npm_config_update_notifier", "false"),
        ],
        LauncherKind::Uvx => vec![
            ("UV_DEFAULT_INDEX", registry),
            ("UV_OFFLINE", if offline { "1" } else { "0" }),
            ("UV_NO_PROGRESS", "1"),
            // A Python of its own would come from a host that is no registry.
            ("UV_PYTHON_DOWNLOADS", "never"),
            ("UV_SYSTEM_CERTS", "1"),
        ],
        LauncherKind::Docker => Vec::new(),
    };
    all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(kind: LauncherKind, registry: &str) -> Stdio {
        let launcher =
            Launcher { kind, package: "pkg@1".to_owned(), registry: registry.to_owned() };
        Stdio {
            command: "/usr/bin/npx".to_owned(),
            args: vec!["-y".to_owned(), "pkg@1".to_owned(), "--flag".to_owned()],
            allow_hosts: vec!["api.example".to_owned()],
            launcher: Some(launcher),
            ..Stdio::default()
        }
    }

    #[test]
    fn the_registry_is_reached_to_fetch_alone() {
        let check = |kind, registry, expected: &[&str]| {
            assert_eq!(hosts(&stdio(kind, registry), Phase::Fetch), expected);
            assert_eq!(hosts(&stdio(kind, registry), Phase::Run), ["api.example"]);
        };
        check(LauncherKind::Npx, "https://npm.example/x/", &["npm.example:443"]);
        check(LauncherKind::Npx, "http://npm.example:4873/", &["npm.example:4873"]);
        let pypi = ["pypi.org:443", "files.pythonhosted.org"];
        check(LauncherKind::Uvx, "https://pypi.org/simple", &pypi);
    }

    #[test]
    fn a_fetched_package_is_known_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let home = super::super::server_program::home_beside(&folder.path().join("home"), "fx");
        std::fs::create_dir_all(&home).unwrap();
        let own = stdio(LauncherKind::Npx, "https://a.example").launcher.unwrap();
        assert!(!is_fetched(&home, &own));
        set_fetched(&home, &own);
        assert!(is_fetched(&home, &own));
        assert!(!is_fetched(&home, &Launcher { package: "pkg@2".to_owned(), ..own.clone() }));
        fetch_again(&folder.path().join("home"), "fx").unwrap();
        assert!(!is_fetched(&home, &own));
    }
}
