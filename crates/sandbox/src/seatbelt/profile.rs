//! Generates the Seatbelt profile of a policy. The last matching rule decides, so outer paths come
//! before inner ones.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::SandboxError;
use crate::policy::{Network, Policy};

/// System folders and files that every program may read. `/etc`, `/tmp` and `/var` are symlinks
/// into `/private`.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/System",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/Library/Frameworks",
    "/Library/Java",
    "/Applications/Xcode.app/Contents/Developer",
    "/private/etc",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/select",
];

/// Devices that every program may use.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/tty"];

/// Mach services that system libraries use at every start; they act on nothing outside the program.
const SERVICES: [&str; 3] = [
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.notification_center",
    "com.apple.system.logger",
];

/// Additional services for looking up names and checking certificates.
const NETWORK_SERVICES: [&str; 4] = [
    "com.apple.dnssd.service",
    "com.apple.SystemConfiguration.configd",
    "com.apple.trustd.agent",
    "com.apple.networkd",
];

/// Files in `/private/etc` that only root may read: passwords, keys, sudo configuration. A program
/// that root starts could read them. The patterns are regular expressions of a profile.
const SECRETS: [&str; 7] = [
    "^/private/etc/master\\.passwd",
    "^/private/etc/sudoers",
    "^/private/etc/[^/]*\\.keytab$",
    "^/private/etc/ssh/ssh_host_[^/]*_key$",
    "^/private/etc/racoon/",
    "^/private/etc/ppp/.*-secrets$",
    "^/private/etc/security/audit",
];

/// The folder of these files.
const SECRETS_FOLDER: &str = "/private/etc";

/// Access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Read,
    Write,
    Hidden,
}

/// Generates the profile of a policy. `scratch` is the folder for temporary files, `proxy` the port
/// of the egress proxy.
pub(super) fn profile(
    policy: &Policy,
    scratch: &Path,
    proxy: Option<u16>,
) -> Result<String, SandboxError> {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec)\n\
         (allow process-info* (target same-sandbox))\n(allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n(allow ipc-posix-sem)\n(allow pseudo-tty)\n(allow file-read-metadata)\n\
         (allow file-read* (literal \"/\"))\n",
    );
    text += &format!("(allow mach-lookup{})\n", global_names(&SERVICES));
    for path in SYSTEM {
        text += &rule("allow", "file-read*", "subpath", path);
    }
    for path in DEVICES {
        text += &rule("allow", "file-read* file-write* file-ioctl", "literal", path);
    }
    let views = views(policy, scratch)?;
    let mut secrets = SECRETS
        .map(|pattern| format!("(deny file-read* file-write* (regex #\"{pattern}\"))\n"))
        .concat();
    for (path, how) in &views {
        // Only paths that the policy names explicitly are allowed again.
        if path.as_path() > Path::new(SECRETS_FOLDER) {
            text += &std::mem::take(&mut secrets);
        }
        text += &seen(&quoted(path)?, *how);
    }
    text += &secrets;
    for path in ways(&views) {
        text += &rule("deny", "file-write-unlink", "literal", &quoted(path)?);
    }
    match (&policy.network, proxy) {
        (Network::Full, _) => {
            text += "(allow network*)\n(allow system-socket)\n";
            text += &format!("(allow mach-lookup{})\n", global_names(&NETWORK_SERVICES));
        }
        (Network::Hosts(_), Some(port)) => {
            text += &format!("(allow network-outbound (remote ip \"localhost:{port}\"))\n");
        }
        _ => {}
    }
    Ok(text)
}

/// Returns the rules of one view.
fn seen(path: &str, how: Access) -> String {
    match how {
        Access::Read => {
            rule("allow", "file-read*", "subpath", path)
                + &rule("deny", "file-write*", "subpath", path)
        }
        Access::Write => rule("allow", "file-read* file-write*", "subpath", path),
        Access::Hidden => rule("deny", "file-read* file-write*", "subpath", path),
    }
}

/// Returns all paths of the policy, resolved, outer paths first. The last entry for a path applies.
fn views(policy: &Policy, scratch: &Path) -> Result<BTreeMap<PathBuf, Access>, SandboxError> {
    let mut views = BTreeMap::new();
    let must = |path: &Path| {
        path.canonicalize().map_err(|source| SandboxError::Path { path: path.to_owned(), source })
    };
    views.insert(must(scratch)?, Access::Write);
    for path in &policy.readable {
        views.insert(must(path)?, Access::Read);
    }
    for path in &policy.writable {
        views.insert(must(path)?, Access::Write);
    }
    for path in policy.read_only.iter().filter_map(|path| path.canonicalize().ok()) {
        let around = path.ancestors().skip(1).find_map(|around| views.get(around));
        // A symlink that leads out of a writable path grants nothing more.
        if around == Some(&Access::Write) {
            views.entry(path).or_insert(Access::Read);
        }
    }
    // Seatbelt can only refuse access, so a masked path is denied here.
    let concealed = policy.masked.iter().chain(&policy.denied);
    for path in concealed.filter_map(|path| path.canonicalize().ok()) {
        views.insert(path, Access::Hidden);
    }
    Ok(views)
}

/// Returns the folders in writable paths that contain restricted paths. Renaming them would move
/// the restricted path out of its rule, so they must keep their names.
fn ways(views: &BTreeMap<PathBuf, Access>) -> BTreeSet<&Path> {
    let is_open = |path: &&Path| {
        path.ancestors().find_map(|around| views.get(around)) == Some(&Access::Write)
    };
    let closed = views.iter().filter(|(_, how)| **how != Access::Write);
    closed.flat_map(|(path, _)| path.ancestors().skip(1).take_while(is_open)).collect()
}

fn rule(does: &str, what: &str, kind: &str, path: &str) -> String {
    format!("({does} {what} ({kind} \"{path}\"))\n")
}

fn global_names(names: &[&str]) -> String {
    names.iter().map(|name| format!(" (global-name \"{name}\")")).collect()
}

/// Quotes a path as a string of the profile.
fn quoted(path: &Path) -> Result<String, SandboxError> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.ok_or_else(|| SandboxError::Path {
        path: path.to_owned(),
        source: io::Error::other("a profile cannot name it"),
    })?;
    Ok(text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_rules::HostRules;

    /// Returns the lines of a profile that contain this text.
    fn lines<'a>(profile: &'a str, of: &str) -> Vec<&'a str> {
        profile.lines().filter(|line| line.contains(of)).collect()
    }

    #[test]
    fn inner_paths_decide_and_denied_ones_last() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let policy = Policy {
            readable: vec![path("a")],
            writable: vec![path("a/w"), path("q\"uote")],
            read_only: vec![path("a/w/x/y/.toolcrib"), path("elsewhere"), root.join("missing")],
            denied: vec![path("a/w/secret"), path("a/own"), root.join("nowhere")],
            ..Policy::default()
        };
        let profile = profile(&policy, &path("scratch"), None).unwrap();
        assert!(profile.starts_with("(version 1)\n(deny default)\n"));
        let root = root.display();
        let all: Vec<&str> = lines(&profile, &root.to_string());
        let line = |does: &str, what: &str, path: &str| {
            format!("({does} {what} (subpath \"{root}/{path}\"))")
        };
        // Renaming them would move their contents out of the rules.
        let stays = |path: &str| format!("(deny file-write-unlink (literal \"{root}/{path}\"))");
        assert_eq!(
            all,
            [
                line("allow", "file-read*", "a"),
                line("deny", "file-write*", "a"),
                line("deny", "file-read* file-write*", "a/own"),
                line("allow", "file-read* file-write*", "a/w"),
                line("deny", "file-read* file-write*", "a/w/secret"),
                line("allow", "file-read*", "a/w/x/y/.toolcrib"),
                line("deny", "file-write*", "a/w/x/y/.toolcrib"),
                line("allow", "file-read* file-write*", "q\\\"uote"),
                line("allow", "file-read* file-write*", "scratch"),
                stays("a/w"),
                stays("a/w/x"),
                stays("a/w/x/y"),
            ]
        );
    }

    #[test]
    fn what_only_root_may_read_is_denied_after_the_system_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let policy = Policy { readable: vec!["/".into()], ..Policy::default() };
        let profile = profile(&policy, folder.path(), None).unwrap();
        let place = |line: &str| profile.find(line).unwrap_or_else(|| panic!("{line}: {profile}"));
        let allowed = place("(allow file-read* (subpath \"/private/etc\"))\n");
        let allowed = allowed.max(place("(allow file-read* (subpath \"/\"))\n"));
        for pattern in [
            r"^/private/etc/master\.passwd",
            r"^/private/etc/[^/]*\.keytab$",
            r"^/private/etc/ssh/ssh_host_[^/]*_key$",
        ] {
            assert!(
                place(&format!("(deny file-read* file-write* (regex #\"{pattern}\"))\n")) > allowed
            );
        }
    }

    #[test]
    fn the_network_is_what_the_policy_says() {
        let folder = tempfile::tempdir().unwrap();
        let check = |network: Network, proxy: Option<u16>, expected: &[&str]| {
            let policy = Policy { network, ..Policy::default() };
            let profile = profile(&policy, folder.path(), proxy).unwrap();
            assert_eq!(lines(&profile, "(allow network"), expected);
            assert_eq!(profile.contains("system-socket"), expected == ["(allow network*)"]);
        };
        check(Network::None, None, &[]);
        check(Network::Full, None, &["(allow network*)"]);
        let hosts = Network::Hosts(HostRules::default());
        let port = "(allow network-outbound (remote ip \"localhost:4711\"))";
        check(hosts.clone(), Some(4711), &[port]);
        check(hosts, None, &[]);
    }

    #[test]
    fn a_path_that_could_end_a_rule_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a\n(allow default)");
        std::fs::create_dir(&odd).unwrap();
        let policy = Policy { readable: vec![odd], ..Policy::default() };
        let error = profile(&policy, folder.path(), None).unwrap_err();
        assert!(matches!(error, SandboxError::Path { .. }), "{error}");
        let missing = Policy { readable: vec!["/no/such/folder".into()], ..Policy::default() };
        assert!(profile(&missing, folder.path(), None).is_err());
    }

    #[test]
    fn parentheses_are_balanced() {
        let folder = tempfile::tempdir().unwrap();
        let profile =
            profile(&Policy { network: Network::Full, ..Policy::default() }, folder.path(), None)
                .unwrap();
        for line in profile.lines() {
            let count = |c: char| line.matches(c).count();
            assert_eq!(count('('), count(')'), "{line}");
            assert_eq!(count('"') % 2, 0, "{line}");
        }
    }
}
