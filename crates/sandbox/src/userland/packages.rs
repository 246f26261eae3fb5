//! Package management with Alpine's `apk`, which runs inside the userland: it verifies packages
//! with the keys of the system, and can reach only the mirror.
#![deny(clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::mpsc;
use toolcrib_net::{AddressPolicy, check_url};

use super::Userland;
use super::error::UserlandError;
use super::install::Progress;
use super::live_lines::LiveLines;
use super::state::{Ready, State};
use crate::backend::{Backend, drive_to_end, run};
use crate::host_rules::HostRules;
use crate::job::{Job, JobResult, LimitHit};
use crate::policy::{Network, Policy, Resources};
use crate::process::{End, Limits, Report};

/// The basic tools that users expect of a Linux system.
pub const BASIC_PACKAGES: [&str; 17] = [
    "bash",
    "ca-certificates",
    "coreutils",
    "curl",
    "diffutils",
    "file",
    "findutils",
    "gawk",
    "git",
    "grep",
    "jq",
    "less",
    "openssh-client",
    "rsync",
    "sed",
    "tar",
    "wget",
];

/// Python and pip.
pub const PYTHON_PACKAGES: [&str; 2] = ["python3", "py3-pip"];

/// Timeout of a package manager command; large packages may arrive over slow connections.
const TIME: Duration = Duration::from_secs(15 * 60);

/// Captured bytes of output: a list of all Alpine packages has 2 MB.
const OUTPUT: usize = 4 << 20;

/// Maximum characters of a displayed error.
const ERROR: usize = 600;

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Description, if requested.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A valid package name or search term, which cannot be interpreted as an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageName(String);

impl std::str::FromStr for PackageName {
    type Err = UserlandError;

    fn from_str(text: &str) -> Result<Self, UserlandError> {
        let (name, version) = match text.find(['=', '~', '<', '>']) {
            Some(at) => text.split_at_checked(at).unwrap_or((text, "")),
            None => (text, ""),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '_' | '-');
        let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let version = version.trim_start_matches(['=', '~', '<', '>']);
        if starts && text.len() <= 200 && name.chars().all(plain) && version.chars().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(UserlandError::BadName(text.to_owned()))
        }
    }
}

impl PackageName {
    /// Returns the text as entered.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The package manager of a ready userland.
#[derive(Clone, Copy)]
pub struct Packages<'a> {
    userland: &'a Userland,
    backend: &'a dyn Backend,
    told: &'a (dyn Fn(Progress) + Send + Sync),
}

impl Userland {
    /// Returns the package manager, which this backend runs.
    pub fn packages<'a>(
        &'a self,
        backend: &'a dyn Backend,
        told: &'a (dyn Fn(Progress) + Send + Sync),
    ) -> Packages<'a> {
        Packages { userland: self, backend, told }
    }

    /// Returns the hosts of its mirrors, which programs inside may always reach so that the package
    /// manager works. A mirror URL without a host is ignored; without a userland the set is empty.
    #[must_use]
    pub fn hosts(&self) -> HostRules {
        let State::Ready(ready) = self.status().state else { return HostRules::default() };
        ready.mirrors.iter().filter_map(|mirror| host_of(mirror)).collect()
    }
}

impl Packages<'_> {
    /// Lists the installed packages.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn list(&self) -> Result<Vec<Package>, UserlandError> {
        let said = self.apk(&["list", "--installed"], Network::None).await?;
        Ok(said.lines().filter_map(listed).collect())
    }

    /// Searches the repositories.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn search(&self, word: &PackageName) -> Result<Vec<Package>, UserlandError> {
        let ready = self.ready_with_repositories().await?;
        let args = ["search", "-v", "--", word.as_str()];
        let said = self.apk(&args, self.network(&ready)).await?;
        Ok(said.lines().filter_map(found).collect())
    }

    /// Installs packages, all or none.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn install(&self, names: &[PackageName]) -> Result<(), UserlandError> {
        let mut args = vec!["add", "--no-progress", "--"];
        args.extend(names.iter().map(PackageName::as_str));
        let ready = self.ready_with_repositories().await?;
        let first = self.apk(&args, self.network(&ready)).await;
        let Err(UserlandError::Packages { .. }) = first else { return first.map(drop) };
        // The mirror may be gone or have newer packages: another mirror or a new index may help.
        let ready = self.choose_mirror().await?;
        self.apk(&args, self.network(&ready)).await.map(drop)
    }

    /// Removes packages, and their dependencies that nothing else needs.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn remove(&self, names: &[PackageName]) -> Result<(), UserlandError> {
        let mut args = vec!["del", "--no-progress", "--"];
        args.extend(names.iter().map(PackageName::as_str));
        self.apk(&args, Network::None).await.map(drop)
    }

    /// Selects the first mirror whose package index can be loaded.
    ///
    /// # Errors
    /// [`UserlandError::NoMirror`] with the error of each mirror.
    pub async fn choose_mirror(&self) -> Result<Ready, UserlandError> {
        let ready = match self.userland.status().state {
            State::Ready(ready) => ready,
            other => return Err(UserlandError::NotReady(Box::new(other))),
        };
        let mut tried = Vec::new();
        for mirror in &ready.mirrors {
            let said = match host_of(mirror) {
                Some(host) => {
                    let network = Network::Hosts(HostRules::from_iter([host]));
                    self.use_mirror(&ready.branch, mirror, network).await
                }
                None => Err("it is not a URL of a mirror".to_owned()),
            };
            match said {
                Ok(()) => return self.remember(mirror),
                Err(reason) => {
                    (self.told)(Progress::Useless(mirror.clone(), reason.clone()));
                    tried.push(format!("{mirror}: {reason}"));
                }
            }
        }
        Err(UserlandError::NoMirror { what: "a list of packages".to_owned(), tried })
    }

    /// Writes the mirror to the configuration from inside the sandbox, where no symlink leads out,
    /// and updates the index.
    async fn use_mirror(&self, branch: &str, mirror: &str, network: Network) -> Result<(), String> {
        (self.told)(Progress::Asking(mirror.to_owned()));
        let script =
            "printf '%s\\n' \"$@\" > /etc/apk/repositories && exec apk update --no-progress";
        let base = mirror.trim_end_matches('/');
        let lines = ["main", "community"].map(|part| format!("{base}/{branch}/{part}"));
        let args = ["-c", script, "sh"].into_iter().chain(lines.iter().map(String::as_str));
        let args: Vec<&str> = args.collect();
        let said = self.run("sh", &args, "apk update", network, false).await;
        said.map(drop).map_err(|error| error.to_string())
    }

    fn remember(&self, mirror: &str) -> Result<Ready, UserlandError> {
        let store = self.userland.store();
        let _lock = store.lock()?;
        match store.state() {
            State::Ready(ready) => {
                let ready = Ready { repositories: Some(mirror.to_owned()), ..ready };
                store.set(&State::Ready(ready.clone()))?;
                Ok(ready)
            }
            other => Err(UserlandError::NotReady(Box::new(other))),
        }
    }

    /// Returns the selected mirror, or selects one now.
    async fn ready_with_repositories(&self) -> Result<Ready, UserlandError> {
        match self.userland.status().state {
            State::Ready(ready) if ready.repositories.is_some() => Ok(ready),
            State::Ready(_) => self.choose_mirror().await,
            other => Err(UserlandError::NotReady(Box::new(other))),
        }
    }

    fn network(&self, ready: &Ready) -> Network {
        let host = ready.repositories.as_deref().and_then(host_of);
        Network::Hosts(host.into_iter().collect())
    }

    async fn apk(&self, args: &[&str], network: Network) -> Result<String, UserlandError> {
        let words: Vec<&str> = args.iter().copied().filter(|word| *word != "--").collect();
        // Commands that change packages take long enough to show their output live.
        let tells = matches!(words.first(), Some(&"add" | &"del"));
        self.run("apk", args, &format!("apk {}", words.join(" ")), network, tells).await
    }

    /// Runs a program in the userland and captures its output.
    async fn run(
        &self,
        program: &str,
        args: &[&str],
        name: &str,
        network: Network,
        tells: bool,
    ) -> Result<String, UserlandError> {
        let resources = Resources { wall: Some(TIME), ..Resources::default() };
        let policy = Policy { network, resources, ..Policy::default() };
        let root = self.userland.root()?;
        let job = Job::new(program, policy).args(args).root(root).folder("/");
        let limits = Limits { time: TIME, stdout: OUTPUT, stderr: OUTPUT };
        let (report, ended) = match tells {
            true => self.run_aloud(&job, limits).await?,
            false => run(self.backend, &job, b"", limits, std::future::pending()).await?,
        };
        if report.end == End::Exited(0) {
            return Ok(report.stdout.text().into_owned());
        }
        let refused = ended.refused.first();
        let reason = match (ended.stopped, refused) {
            (Some(LimitHit::Killed) | None, None) => report.stderr.last(ERROR),
            (Some(stop), _) => format!("it was stopped because {}", stop.message()),
            (None, Some(refused)) => {
                let said = report.stderr.last(ERROR);
                format!("{} was not reached ({}). {said}", refused.host, refused.rule)
            }
        };
        let reason = if reason.trim().is_empty() { report.stdout.last(ERROR) } else { reason };
        let reason = reason.trim().to_owned();
        Err(UserlandError::Packages { command: name.to_owned(), reason })
    }

    /// Runs a job, and reports each line while the job writes it.
    async fn run_aloud(
        &self,
        job: &Job,
        limits: Limits,
    ) -> Result<(Report, JobResult), UserlandError> {
        let begun = Instant::now();
        let mut process = self.backend.start(job).await?;
        let (heard, mut lines) = mpsc::unbounded_channel();
        process.stdout = LiveLines::tap(process.stdout, heard.clone());
        process.stderr = LiveLines::tap(process.stderr, heard);
        let ending = drive_to_end(process, begun, b"", limits, std::future::pending());
        let telling = async {
            while let Some(line) = lines.recv().await {
                (self.told)(Progress::Said(line));
            }
        };
        let (ended, ()) = tokio::join!(ending, telling);
        Ok(ended?)
    }
}

/// Returns the host rule that allows a mirror.
fn host_of(mirror: &str) -> Option<crate::host_rules::HostRule> {
    // Addresses are checked when connecting. Here only the text is checked, and an owner may use a
    // private host.
    let anything = AddressPolicy::with_allowed([authority(mirror)?]).ok()?;
    let target = check_url(mirror, &anything).ok()?;
    format!("{}:{}", target.host(), target.port()).parse().ok()
}

/// Returns the `host:port` of a URL, in the form of the owner's allow list.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let port = if scheme == "http" { 80 } else { 443 };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

/// Parses a line of `apk list`: `musl-1.2.5-r9 x86_64 {musl} (MIT) [installed]`.
fn listed(line: &str) -> Option<Package> {
    let (name, version) = named(line.split_whitespace().next()?)?;
    Some(Package { name, version, description: String::new() })
}

/// Parses a line of `apk search -v`: `jq-1.8.1-r0 - A lightweight JSON processor`.
fn found(line: &str) -> Option<Package> {
    let (first, description) = line.split_once(" - ").unwrap_or((line, ""));
    let (name, version) = named(first.trim())?;
    Some(Package { name, version, description: description.trim().to_owned() })
}

/// Splits `name-version-rN`: a version begins with a digit and contains no hyphen except before its
/// revision.
fn named(text: &str) -> Option<(String, String)> {
    let (rest, revision) = text.rsplit_once('-')?;
    let is_revision =
        revision.strip_prefix('r').is_some_and(|number| number.parse::<u32>().is_ok());
    let (name, version) = if is_revision { rest.rsplit_once('-')? } else { (rest, revision) };
    if name.is_empty() || !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let version = text.strip_prefix(name)?.strip_prefix('-')?;
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let named = named(text);
            let named = named.as_ref().map(|(name, version)| (name.as_str(), version.as_str()));
            assert_eq!(named, expected, "{text}");
        };
        check("musl-1.2.5-r9", Some(("musl", "1.2.5-r9")));
        check("py3-pip-25.1.1-r0", Some(("py3-pip", "25.1.1-r0")));
        check("gtk+3.0-3.24.49-r0", Some(("gtk+3.0", "3.24.49-r0")));
        check("alpine-keys-2.5-r0", Some(("alpine-keys", "2.5-r0")));
        check("hello-1.0", Some(("hello", "1.0")));
        check("7zip-25.00-r0", Some(("7zip", "25.00-r0")));
        check("WARNING:", None);
        check("", None);
        check("-1.0-r0", None);
        check("é-x-r0", None);
    }

    #[test]
    fn only_names_of_packages_are_asked_for() {
        for good in ["bash", "py3-pip", "gtk+3.0", "7zip", "jq=1.8.1-r0", "jq~1.8", "jq>=1", "x"] {
            assert_eq!(good.parse::<PackageName>().unwrap().as_str(), good);
        }
        for bad in
            ["", "-x", "--root=/x", "a b", "a;b", "a/b", "../x", "$(x)", "é", "=1", "jq=$x", "a\n"]
        {
            assert!(bad.parse::<PackageName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_mirror_lets_its_host_be_reached() {
        let check = |mirror: &str, host: &str, port: u16, allowed: bool| {
            let rules: HostRules = host_of(mirror).into_iter().collect();
            let url = format!("http://{host}:{port}/");
            let anything = AddressPolicy::with_allowed([format!("{host}:{port}")]).unwrap();
            let target = check_url(&url, &anything).unwrap();
            assert_eq!(rules.allows(target.host(), port), allowed, "{mirror} {host} {port}");
        };
        check("https://dl-cdn.alpinelinux.org/alpine", "dl-cdn.alpinelinux.org", 443, true);
        check("https://dl-cdn.alpinelinux.org/alpine", "dl-cdn.alpinelinux.org", 80, false);
        check("http://127.0.0.1:8080/alpine/", "127.0.0.1", 8080, true);
        check("http://127.0.0.1:8080/alpine/", "127.0.0.1", 80, false);
        check("no mirror", "example.com", 443, false);
    }

    #[test]
    fn the_packages_of_this_build_have_names() {
        for name in BASIC_PACKAGES.iter().chain(&PYTHON_PACKAGES) {
            assert!(name.parse::<PackageName>().is_ok(), "{name}");
        }
    }
}
