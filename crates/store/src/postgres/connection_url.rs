//! Parses the connection URL: address, credentials and TLS mode. Connections that leave this
//! machine are encrypted by default.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::error::ConnectError;
use super::tls::Tls;

/// Timeout of one connection attempt.
const CONNECT: Duration = Duration::from_secs(10);
/// Idle time before TCP keepalive probes the server, and the limit for unacknowledged data.
const ALIVE: Duration = Duration::from_secs(15);

/// A parsed URL.
#[derive(Clone)]
pub(super) struct ConnectionUrl {
    pub(super) config: Config,
    /// `None` means unencrypted: the server is local, or the URL disables TLS.
    pub(super) tls: Option<Tls>,
    /// Host and database, for messages.
    pub(super) place: String,
}

/// The TLS mode of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// No `sslmode`, or an optional one: connections that leave this machine are encrypted.
    Unsaid,
    Never,
    Always,
}

impl ConnectionUrl {
    /// Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…&sslrootcert=FILE`. The host
    /// may be the folder of the server's socket, percent-encoded.
    pub(super) fn parse(url: &str) -> Result<Self, ConnectError> {
        let (rest, mode, roots) = take_tls(url)?;
        // The parser's error quotes the text that it could not read, which may be a password.
        let mut config =
            Config::from_str(&rest).map_err(|_| ConnectError::BadUrl("it is not complete"))?;
        if config.get_hosts().is_empty() {
            return Err(ConnectError::BadUrl("it names no host"));
        }
        let place = display_name(&config);
        let encrypted = match mode {
            Mode::Always => true,
            Mode::Never => false,
            Mode::Unsaid => !is_local(&config),
        };
        let tls = encrypted.then(|| Tls::new(roots.as_deref())).transpose()?;
        config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
        if config.get_application_name().is_none() {
            config.application_name("toolcrib");
        }
        config.connect_timeout(CONNECT).tcp_user_timeout(ALIVE).keepalives_idle(ALIVE);
        Ok(Self { config, tls, place })
    }
}

/// Removes the TLS parameters from a URL: the parser supports fewer modes and no root certificates.
fn take_tls(url: &str) -> Result<(String, Mode, Option<PathBuf>), ConnectError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(ConnectError::BadUrl("it does not begin with postgres://"));
    }
    // A password may contain a question mark; it ends at the first @.
    let host = url.find('@').unwrap_or(0);
    let (base, query) = match url.get(host..).and_then(|rest| rest.find('?')) {
        Some(place) => (&url[..host + place], &url[host + place + 1..]),
        None => (url, ""),
    };
    let (mut mode, mut roots, mut rest) = (Mode::Unsaid, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", word)) => {
                mode = match word {
                    "disable" => Mode::Never,
                    "allow" | "prefer" => Mode::Unsaid,
                    "require" | "verify-ca" | "verify-full" => Mode::Always,
                    _ => return Err(ConnectError::BadUrl("its sslmode is unknown")),
                }
            }
            Some(("sslrootcert", "system")) => roots = None,
            Some(("sslrootcert", path)) => roots = Some(PathBuf::from(decoded(path)?)),
            _ => rest.push(pair),
        }
    }
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    Ok((url, mode, roots))
}

/// Percent-decodes text.
fn decoded(text: &str) -> Result<String, ConnectError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next(), rest.next()];
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let [Some(high), Some(low)] = digits.map(digit) else {
                    return Err(ConnectError::BadUrl("a % in it is not followed by two digits"));
                };
                u8::try_from(high * 16 + low).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| ConnectError::BadUrl("it is not UTF-8"))
}

/// Returns whether the connection stays on this machine.
fn is_local(config: &Config) -> bool {
    let names = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            let ip = name.trim_start_matches('[').trim_end_matches(']').parse();
            name == "localhost" || ip.is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    names && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

fn display_name(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("\"{database}\" at {}", hosts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<(bool, &str), &str>) {
        match (ConnectionUrl::parse(url), expected) {
            (Ok(address), Ok((encrypted, place))) => {
                assert_eq!(
                    (address.tls.is_some(), address.place.as_str()),
                    (encrypted, place),
                    "{url}"
                );
            }
            (Err(error), Err(words)) => {
                let said = error.to_string();
                assert!(said.contains(words), "{url}: {said}");
                assert!(!said.contains("s3cret"), "{url}: {said}");
            }
            (Ok(address), Err(words)) => panic!("{url}: {}, not {words}", address.place),
            (Err(error), Ok(_)) => panic!("{url}: {error}"),
        }
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_that_is_said() {
        check("postgres://u:s3cret@db.example:5433/crib", Ok((true, "\"crib\" at db.example")));
        check(
            "postgresql://u@db.example/crib?sslmode=prefer",
            Ok((true, "\"crib\" at db.example")),
        );
        check(
            "postgres://u@db.example/crib?sslmode=verify-full",
            Ok((true, "\"crib\" at db.example")),
        );
        check(
            "postgres://u@db.example/crib?sslmode=disable",
            Ok((false, "\"crib\" at db.example")),
        );
        check("postgres://u@localhost/crib", Ok((false, "\"crib\" at localhost")));
        check("postgres://u@127.0.0.7/crib?sslmode=require", Ok((true, "\"crib\" at 127.0.0.7")));
        check(
            "postgres://u@127.0.0.1/crib?connect_timeout=3",
            Ok((false, "\"crib\" at 127.0.0.1")),
        );
        check("postgres://u:?sslmode=disable@h/crib", Ok((true, "\"crib\" at h")));
        check("postgres://u@%2Frun%2Fpg/crib", Ok((false, "\"crib\" at /run/pg")));
        check(
            "postgres://u@localhost,db.example/crib",
            Ok((true, "\"crib\" at localhost, db.example")),
        );
        check(
            "postgres://u@a.example,b.example/crib?target_session_attrs=read-write",
            Ok((true, "\"crib\" at a.example, b.example")),
        );
        check("postgres://u@localhost/c?hostaddr=192.0.2.1", Ok((true, "\"c\" at localhost")));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_its_words() {
        check("mysql://u:s3cret@h/d", Err("does not begin with postgres://"));
        check("postgres://u:s3cret@h/d?sslmode=maybe", Err("its sslmode is unknown"));
        check("postgres://u@h/d?s3cret=1", Err("cannot be read"));
        check("postgres://u:s3cret@h:port/d", Err("it is not complete"));
        check("postgres://u@h/d?sslcert=/a.pem", Err("cannot be read"));
        check("postgres:///d", Err("it names no host"));
        check("postgres://u@h/d?sslrootcert=%2", Err("two digits"));
        check("postgres://u@h/d?sslrootcert=/no/such/s3.pem", Err("/no/such/s3.pem"));
    }
}
