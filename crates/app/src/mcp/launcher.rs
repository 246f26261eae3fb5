//! Launchers: programs that fetch a server from a package registry and run it. They run twice: once
//! to fetch, with the registry and without the workspace, and then without any network but the
//! server's own, from what was fetched. So the program of a server has no network because its
//! launcher needed one, and it stays the same until its owner fetches it again.

use std::path::Path;

use toolcrib_mcp::client::{Launcher, LauncherKind, Stdio};

use super::launcher_args::{self, LauncherArgs};

/// What a launcher is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Fetch,
    Run,
}

/// File in the home of a server that says what was fetched there.
const FETCHED: &str = ".fetched";

/// Whether this package was fetched into this home.
pub(super) fn is_fetched(home: &Path, stdio: &Stdio) -> bool {
    std::fs::read_to_string(home.join(FETCHED)).is_ok_and(|text| text == fetched_text(stdio))
}

/// Remembers that it was.
pub(super) fn set_fetched(home: &Path, stdio: &Stdio) {
    // Without it, it is fetched again.
    let _ = std::fs::write(home.join(FETCHED), fetched_text(stdio));
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

fn fetched_text(stdio: &Stdio) -> String {
    let registry = stdio.launcher.as_ref().map(|own| own.registry.as_str()).unwrap_or_default();
    let (command, args) = command_line(stdio, Phase::Fetch);
    format!("{command} {} {registry}\n", args.join(" "))
}

/// The hosts of the registry, which are reached to fetch alone.
pub(super) fn registry_hosts(stdio: &Stdio, phase: Phase) -> Vec<String> {
    let Some(launcher) = stdio.launcher.as_ref().filter(|_| phase == Phase::Fetch) else {
        return Vec::new();
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
        Some(Launcher { kind: LauncherKind::Docker, package, .. }) => {
            (command, words(&["pull", "--quiet", package]))
        }
        Some(Launcher { kind, package, .. }) => {
            // With all options of the launcher: they may name more packages, or another Python.
            let LauncherArgs { command: own, options, .. } =
                launcher_args::split(*kind, &stdio.args);
            let (names, rest): (&[&str], &[&str]) = match kind {
                LauncherKind::Uvx => (&["--from"], &["python", "--version"]),
                _ => (&["--package", "-p"], &["--", "node", "--version"]),
            };
            let mut args: Vec<String> = own.to_vec();
            args.extend(words(&options));
            if launcher_args::option(&options, names).is_none() {
                args.extend(words(&[names.first().copied().unwrap_or_default(), package]));
            }
            args.extend(words(rest));
            (command, args)
        }
    }
}

/// The variables that a launcher reads.
pub(super) fn variables(stdio: &Stdio, phase: Phase) -> Vec<(String, String)> {
    let Some(Launcher { kind, registry, .. }) = &stdio.launcher else { return Vec::new() };
    let offline = phase == Phase::Run;
    let mut all: Vec<(&str, &str)> = match kind {
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
    if phase == Phase::Fetch {
        // A registry on this machine is outside of the sandbox, and reached through its proxy.
        all.extend([("NO_PROXY", ""), ("no_proxy", "")]);
    }
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
            assert_eq!(registry_hosts(&stdio(kind, registry), Phase::Fetch), expected);
            assert!(registry_hosts(&stdio(kind, registry), Phase::Run).is_empty());
        };
        check(LauncherKind::Npx, "https://npm.example/x/", &["npm.example:443"]);
        check(LauncherKind::Npx, "http://npm.example:4873/", &["npm.example:4873"]);
        let pypi = ["pypi.org:443", "files.pythonhosted.org"];
        check(LauncherKind::Uvx, "https://pypi.org/simple", &pypi);
    }

    /// `uvx --with` names a package more, which was not there when the server ran offline.
    #[test]
    fn all_packages_of_the_command_line_are_fetched() {
        let check = |kind, line: &str, expected: &str| {
            let args = line.split(' ').map(str::to_owned).collect();
            let stdio = Stdio { args, ..stdio(kind, "https://a.example") };
            assert_eq!(command_line(&stdio, Phase::Fetch).1.join(" "), expected);
            assert_eq!(command_line(&stdio, Phase::Run).1.join(" "), line);
        };
        check(LauncherKind::Npx, "-y pkg@1 --flag", "-y --package pkg@1 -- node --version");
        check(LauncherKind::Npx, "-y -p pkg@1 -p b -- run", "-y -p pkg@1 -p b -- node --version");
        check(
            LauncherKind::Uvx,
            "--with mcp<2 --python 3.12 pkg@1 --port 1",
            "--with mcp<2 --python 3.12 --from pkg@1 python --version",
        );
        check(
            LauncherKind::Uvx,
            "tool run --from=pkg@1 x",
            "tool run --from=pkg@1 python --version",
        );
    }

    #[test]
    fn a_fetched_package_is_known_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let home = super::super::server_program::home_beside(&folder.path().join("home"), "fx");
        std::fs::create_dir_all(&home).unwrap();
        let own = stdio(LauncherKind::Npx, "https://a.example");
        assert!(!is_fetched(&home, &own));
        set_fetched(&home, &own);
        assert!(is_fetched(&home, &own));
        let more = ["-p", "other"].map(str::to_owned).to_vec();
        assert!(!is_fetched(
            &home,
            &Stdio { args: [more, own.args.clone()].concat(), ..own.clone() }
        ));
        assert!(!is_fetched(&home, &stdio(LauncherKind::Npx, "https://b.example")));
        fetch_again(&folder.path().join("home"), "fx").unwrap();
        assert!(!is_fetched(&home, &own));
    }
}
