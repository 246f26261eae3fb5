//! Programs from Alpine's repositories, by its own package manager, which runs in the userland: it checks what it installs with the keys that came
//! with the system, and reaches the mirror and nothing else.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde::Serialize;
use toolcrib_net::{AddressPolicy, check_url};

use super::Userland;
use super::error::UserlandError;
use super::install::Progress;
use super::state::{Ready, State};
use crate::backend::{Backend, run};
use crate::hosts::HostRules;
use crate::job::{Job, Stop};
use crate::policy::{Network, Policy, Resources};
use crate::process::{End, Limits};

/// What makes a userland one to work in: the tools that people expect of a Linux (seed 000: bash, coreutils and standard utilities).
pub const BASIC: [&str; 17] = [
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

/// Python (seed 000: `python3`, `pip`).
pub const PYTHON: [&str; 2] = ["python3", "py3-pip"];

/// Time for one command of the package manager; large packages come over slow lines.
const TIME: Duration = Duration::from_secs(15 * 60);

/// Output that is kept, in bytes: all packages of Alpine in a list have 2 MB.
const OUTPUT: usize = 4 << 20;

/// Characters of an error that are shown.
const ERROR: usize = 600;

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, where that was asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A name of packages to install or remove, or a word to search for, that cannot be taken for anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked(String);

impl std::str::FromStr for Asked {
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

impl Asked {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The package manager of a userland that is ready.
#[derive(Clone, Copy)]
pub struct Packages<'a> {
    userland: &'a Userland,
    backend: &'a dyn Backend,
    told: &'a (dyn Fn(Progress) + Send + Sync),
}

impl Userland {
    /// Its package manager, run by this backend.
    pub fn packages<'a>(
        &'a self,
        backend: &'a dyn Backend,
        told: &'a (dyn Fn(Progress) + Send + Sync),
    ) -> Packages<'a> {
        Packages { userland: self, backend, told }
    }

    /// The hosts of its mirrors: what programs in it may reach without further ado, so that the package manager works. A mirror whose URL says no
    /// host is left out; without a userland there are none.
    #[must_use]
    pub fn hosts(&self) -> HostRules {
        let State::Ready(ready) = self.status().state else { return HostRules::default() };
        ready.mirrors.iter().filter_map(|mirror| host_of(mirror)).collect()
    }
}

impl Packages<'_> {
    /// What is installed.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn list(&self) -> Result<Vec<Package>, UserlandError> {
        let said = self.apk(&["list", "--installed"], Network::None).await?;
        Ok(said.lines().filter_map(listed).collect())
    }

    /// What the repositories have for a word.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn search(&self, word: &Asked) -> Result<Vec<Package>, UserlandError> {
        let ready = self.ready_with_repositories().await?;
        let args = ["search", "-v", "--", word.as_str()];
        let said = self.apk(&args, self.network(&ready)).await?;
        Ok(said.lines().filter_map(found).collect())
    }

    /// Installs packages, all of them or none.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn install(&self, names: &[Asked]) -> Result<(), UserlandError> {
        let mut args = vec!["add", "--no-progress", "--"];
        args.extend(names.iter().map(Asked::as_str));
        let ready = self.ready_with_repositories().await?;
        let first = self.apk(&args, self.network(&ready)).await;
        let Err(UserlandError::Packages { .. }) = first else { return first.map(drop) };
        // The mirror may be gone, or have moved on: another one may be better, or its list a new one.
        let ready = self.choose().await?;
        self.apk(&args, self.network(&ready)).await.map(drop)
    }

    /// Removes packages, and what was installed for them alone.
    ///
    /// # Errors
    /// [`UserlandError`].
    pub async fn remove(&self, names: &[Asked]) -> Result<(), UserlandError> {
        let mut args = vec!["del", "--no-progress", "--"];
        args.extend(names.iter().map(Asked::as_str));
        self.apk(&args, Network::None).await.map(drop)
    }

    /// Finds the first mirror whose packages can be listed, and uses it from now on.
    ///
    /// # Errors
    /// [`UserlandError::NoMirror`] with what each of them said.
    pub async fn choose(&self) -> Result<Ready, UserlandError> {
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
                None => Err("it is no URL of a mirror".to_owned()),
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

    /// Writes it down inside, where a link leads nowhere else, and fetches its list.
    async fn use_mirror(&self, branch: &str, mirror: &str, network: Network) -> Result<(), String> {
        (self.told)(Progress::Asking(mirror.to_owned()));
        let script =
            "printf '%s\\n' \"$@\" > /etc/apk/repositories && exec apk update --no-progress";
        let base = mirror.trim_end_matches('/');
        let lines = ["main", "community"].map(|part| format!("{base}/{branch}/{part}"));
        let args = ["-c", script, "sh"].into_iter().chain(lines.iter().map(String::as_str));
        let args: Vec<&str> = args.collect();
        let said = self.run("sh", &args, "apk update", network).await;
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

    /// The mirror that was chosen, or one that is chosen now.
    async fn ready_with_repositories(&self) -> Result<Ready, UserlandError> {
        match self.userland.status().state {
            State::Ready(ready) if ready.repositories.is_some() => Ok(ready),
            State::Ready(_) => self.choose().await,
            other => Err(UserlandError::NotReady(Box::new(other))),
        }
    }

    fn network(&self, ready: &Ready) -> Network {
        let host = ready.repositories.as_deref().and_then(host_of);
        Network::Hosts(host.into_iter().collect())
    }

    async fn apk(&self, args: &[&str], network: Network) -> Result<String, UserlandError> {
        let words: Vec<&str> = args.iter().copied().filter(|word| *word != "--").collect();
        self.run("apk", args, &format!("apk {}", words.join(" ")), network).await
    }

    /// Runs a program in the userland, and takes what it says.
    async fn run(
        &self,
        program: &str,
        args: &[&str],
        name: &str,
        network: Network,
    ) -> Result<String, UserlandError> {
        let resources = Resources { wall: Some(TIME), ..Resources::default() };
        let policy = Policy { network, resources, ..Policy::default() };
        let root = self.userland.root()?;
        let job = Job::new(program, policy).args(args).root(root).folder("/");
        let limits = Limits { time: TIME, stdout: OUTPUT, stderr: OUTPUT };
        let never = std::future::pending();
        let (report, ended) = run(self.backend, &job, b"", limits, never).await?;
        if report.end == End::Exited(0) {
            return Ok(report.stdout.text().into_owned());
        }
        let refused = ended.refused.first();
        let reason = match (ended.stopped, refused) {
            (Some(Stop::Killed) | None, None) => report.stderr.last(ERROR),
            (Some(stop), _) => format!("it was stopped because {}", stop.because()),
            (None, Some(refused)) => {
                let said = report.stderr.last(ERROR);
                format!("{} was not reached ({}). {said}", refused.host, refused.rule)
            }
        };
        let reason = if reason.trim().is_empty() { report.stdout.last(ERROR) } else { reason };
        let reason = reason.trim().to_owned();
        Err(UserlandError::Packages { command: name.to_owned(), reason })
    }
}

/// The rule that lets a mirror be reached.
fn host_of(mirror: &str) -> Option<crate::hosts::HostRule> {
    // Which addresses are fine is judged when it is reached; here only the text counts, and that an owner may name a host of their own.
    let anything = AddressPolicy::allowing([authority(mirror)?]).ok()?;
    let target = check_url(mirror, &anything).ok()?;
    format!("{}:{}", target.host(), target.port()).parse().ok()
}

/// `host:port` of a URL, as the owner's list of addresses has it.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let port = if scheme == "http" { 80 } else { 443 };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

/// A line of `apk list`: `musl-1.2.5-r9 x86_64 {musl} (MIT) [installed]`.
fn listed(line: &str) -> Option<Package> {
    let (name, version) = named(line.split_whitespace().next()?)?;
    Some(Package { name, version, description: String::new() })
}

/// A line of `apk search -v`: `jq-1.8.1-r0 - A lightweight JSON processor`.
fn found(line: &str) -> Option<Package> {
    let (first, description) = line.split_once(" - ").unwrap_or((line, ""));
    let (name, version) = named(first.trim())?;
    Some(Package { name, version, description: description.trim().to_owned() })
}

/// `name-version-rN` taken apart: a version begins with a digit and has no minus of its own but that of its revision.
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
            assert_eq!(good.parse::<Asked>().unwrap().as_str(), good);
        }
        for bad in
            ["", "-x", "--root=/x", "a b", "a;b", "a/b", "../x", "$(x)", "é", "=1", "jq=$x", "a\n"]
        {
            assert!(bad.parse::<Asked>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_mirror_lets_its_host_be_reached() {
        let check = |mirror: &str, host: &str, port: u16, allowed: bool| {
            let rules: HostRules = host_of(mirror).into_iter().collect();
            let url = format!("http://{host}:{port}/");
            let anything = AddressPolicy::allowing([format!("{host}:{port}")]).unwrap();
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
        for name in BASIC.iter().chain(&PYTHON) {
            assert!(name.parse::<Asked>().is_ok(), "{name}");
        }
    }
}
