//! Launchers: programs that fetch a server from a package registry and run it. A launcher runs
//! twice: first to fetch the package, with access to the registry but not to the workspace; then to
//! run the fetched package, with the network access of the server only. A server therefore does not
//! get network access because its launcher needed it, and its program stays the same until the
//! owner fetches it again.

use std::path::Path;

use toolcrib_mcp::client::{Launcher, LauncherKind, Stdio};

use super::launcher_args::{self, LauncherArgs};

/// The purpose of a run of a launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Fetch,
    Run,
}

/// File in the home of a server that records the fetched package.
const FETCHED: &str = ".fetched";

/// Returns whether this package was fetched into this home.
pub(super) fn is_fetched(home: &Path, stdio: &Stdio) -> bool {
    std::fs::read_to_string(home.join(FETCHED)).is_ok_and(|text| text == fetched_text(stdio))
}

/// Records that the package was fetched.
pub(super) fn set_fetched(home: &Path, stdio: &Stdio) {
    // If this fails, the package is fetched again at the next start.
    let _ = std::fs::write(home.join(FETCHED), fetched_text(stdio));
}

/// Causes the package of a server to be fetched again at its next start. `programs_home` is the
/// home folder of programs.
///
/// # Errors
/// The errors of the file system.
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

/// Returns the hosts of the registry, which are reachable only while fetching.
pub(super) fn registry_hosts(stdio: &Stdio, phase: Phase) -> Vec<String> {
    let Some(launcher) = stdio.launcher.as_ref().filter(|_| phase == Phase::Fetch) else {
        return Vec::new();
    };
    let mut hosts: Vec<String> = registry_host(&launcher.registry).into_iter().collect();
    if hosts.iter().any(|host| host.starts_with("pypi.org")) {
        // The index of PyPI refers to files on another host.
        hosts.push("files.pythonhosted.org".to_owned());
    }
    hosts
}

/// Returns `NAME:PORT` of an address.
fn registry_host(registry: &str) -> Option<String> {
    let uri: http::Uri = registry.parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some(format!("{}:{port}", uri.host()?))
}

/// Returns the command line in this phase.
pub(super) fn command_line(stdio: &Stdio, phase: Phase) -> (String, Vec<String>) {
    let command = stdio.command.clone();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match stdio.launcher.as_ref().filter(|_| phase == Phase::Fetch) {
        None => (command, stdio.args.clone()),
        Some(Launcher { kind: LauncherKind::Docker, package, .. }) => {
            (command, words(&["pull", "--quiet", package]))
        }
        Some(Launcher { kind, package, .. }) => {
            // Keep all options of the launcher: they may name further packages, or another Python.
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

/// Returns the environment variables for a launcher.
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
            // `uv` would download its own Python from a host that is not a registry.
            ("UV_PYTHON_DOWNLOADS", "never"),
            ("UV_SYSTEM_CERTS", "1"),
        ],
        LauncherKind::Docker => Vec::new(),
    };
    if phase == Phase::Fetch {
        // A registry on this machine is outside of the sandbox and reachable only through the
        // sandbox's proxy.
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

    /// Regression: `uvx --with` names a further package, which was missing when the server ran
    /// offline.
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
