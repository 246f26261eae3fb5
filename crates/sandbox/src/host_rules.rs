//! Host rules: the hosts that a program may connect to.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

use toolcrib_net::{AllowEntry, Host};

/// Ports of an entry without a port: http and https.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The allowed hosts; all others are denied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostRules(Vec<HostRule>);

/// One entry: `example.com` (ports 80 and 443), `example.com:8443`, `*.example.com` (all
/// subdomains, but not the domain itself), an IP address, with IPv6 in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    name: Name,
    port: Option<u16>,
    /// Whether the host may be at an address of this machine or of a private network.
    private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// In the form of [`Host`]'s `Display`.
    Exact(String),
    /// The part after the star, including its dot.
    Under(String),
}

/// An entry that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the host {entry:?}: {problem}")]
pub struct HostRuleError {
    /// The entry as written.
    pub entry: String,
    /// The problem, and the correct form.
    pub problem: &'static str,
}

impl FromIterator<HostRule> for HostRules {
    fn from_iter<I: IntoIterator<Item = HostRule>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl HostRules {
    /// Parses entries.
    ///
    /// # Errors
    /// The first entry that cannot be parsed.
    pub fn parse<I>(entries: I) -> Result<Self, HostRuleError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        entries.into_iter().map(|entry| entry.as_ref().parse()).collect::<Result<_, _>>().map(Self)
    }

    /// Combines both sets.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Also allows private addresses for individual hosts (not wildcards): for hosts that the owner
    /// named, such as the package registry of a company.
    #[must_use]
    pub fn with_private_addresses(mut self) -> Self {
        self.0.iter_mut().for_each(|rule| rule.private = true);
        self
    }

    /// Returns the targets whose private addresses may be connected to.
    pub(crate) fn private_targets(&self) -> impl Iterator<Item = AllowEntry> {
        let of = |rule: &HostRule| {
            let Name::Exact(name) = &rule.name else { return Vec::new() };
            let ports = rule.port.as_ref().map_or(&USUAL_PORTS[..], std::slice::from_ref);
            ports.iter().filter_map(|port| format!("{name}:{port}").parse().ok()).collect()
        };
        self.0.iter().filter(|rule| rule.private).flat_map(of)
    }

    /// Returns whether this host is allowed at this port. Its addresses are checked separately.
    #[must_use]
    pub fn allows(&self, host: &Host, port: u16) -> bool {
        let host = host.to_string();
        self.0.iter().any(|rule| rule.allows(&host, port))
    }
}

impl HostRules {
    /// Returns whether these rules allow everything that this entry allows.
    #[must_use]
    pub fn covers(&self, entry: &HostRule) -> bool {
        let ports = entry.port.as_ref().map_or(&USUAL_PORTS[..], std::slice::from_ref);
        match &entry.name {
            Name::Exact(name) => {
                ports.iter().all(|port| self.0.iter().any(|rule| rule.allows(name, *port)))
            }
            Name::Under(_) => self.0.contains(entry),
        }
    }
}

impl HostRule {
    /// Returns whether it is a single host, not a wildcard.
    #[must_use]
    pub fn is_single_host(&self) -> bool {
        matches!(self.name, Name::Exact(_))
    }

    fn allows(&self, host: &str, port: u16) -> bool {
        let named = match &self.name {
            Name::Exact(name) => name == host,
            // The star matches at least one label.
            Name::Under(dot_name) => {
                host.len() > dot_name.len() && host.ends_with(dot_name.as_str())
            }
        };
        named && self.port.map_or_else(|| USUAL_PORTS.contains(&port), |own| own == port)
    }
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(entry: &str) -> Result<Self, Self::Err> {
        read(entry).map_err(|problem| HostRuleError { entry: entry.to_owned(), problem })
    }
}

fn read(entry: &str) -> Result<HostRule, &'static str> {
    const FORM: &str = "write a name such as example.com, *.example.com or example.com:8443";
    let (host, port) = split_port(entry)?;
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if host.is_empty() {
        return Err(FORM);
    }
    if !host.is_ascii() {
        return Err("write a name with other letters in its ASCII form (xn--…)");
    }
    if host.starts_with('[') {
        let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address =
            address.and_then(|text| text.parse::<std::net::Ipv6Addr>().ok()).ok_or(FORM)?;
        return Ok(HostRule {
            name: Name::Exact(Host::Addr(address.into()).to_string()),
            port,
            private: false,
        });
    }
    let (under, name) = match host.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, host.as_str()),
    };
    let fine = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if !name.split('.').all(fine) || (under && !name.contains('.')) {
        return Err(FORM);
    }
    let name = if under { Name::Under(format!(".{name}")) } else { Name::Exact(name.to_owned()) };
    Ok(HostRule { name, port, private: false })
}

/// Splits off the port. An IPv6 address without brackets has none.
fn split_port(entry: &str) -> Result<(&str, Option<u16>), &'static str> {
    let at = match entry.rfind(']') {
        Some(end) => entry.get(end + 1..).unwrap_or_default().find(':').map(|at| end + 1 + at),
        None => entry.find(':'),
    };
    let Some((host, port)) = at.and_then(|at| entry.split_at_checked(at)) else {
        return Ok((entry, None));
    };
    let digits = port.get(1..).unwrap_or_default();
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse() {
        Ok(port) if is_number && port > 0 => Ok((host, Some(port))),
        _ => Err("the port is a number from 1 to 65535, and an IPv6 address is in brackets"),
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(name) => f.write_str(name)?,
            Name::Under(name) => write!(f, "*{name}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, host: &str, port: u16, allowed: bool) {
        let rules = HostRules::parse([entry]).unwrap();
        let host = match host.parse() {
            Ok(address) => Host::Addr(address),
            Err(_) => Host::Name(host.to_owned()),
        };
        assert_eq!(rules.allows(&host, port), allowed, "{entry} {host} {port}");
    }

    #[test]
    fn hosts_that_the_owner_named_may_be_at_private_addresses() {
        let named = HostRules::parse(["127.0.0.1:4873", "npm.example", "*.under.example"]).unwrap();
        assert_eq!(named.private_targets().count(), 0);
        let targets: Vec<AllowEntry> = named.with_private_addresses().private_targets().collect();
        let expected = ["127.0.0.1:4873", "npm.example:80", "npm.example:443"];
        assert_eq!(targets, expected.map(|entry| entry.parse().unwrap()));
    }

    #[test]
    fn an_entry_allows_what_it_names() {
        check("example.com", "example.com", 443, true);
        check("example.com", "example.com", 80, true);
        check("example.com", "example.com", 8443, false);
        check("example.com", "www.example.com", 443, false);
        check("example.com", "notexample.com", 443, false);
        check("Example.COM.", "example.com", 443, true);
        check("example.com:8443", "example.com", 8443, true);
        check("example.com:8443", "example.com", 443, false);
        check("*.example.com", "a.example.com", 443, true);
        check("*.example.com", "a.b.example.com", 443, true);
        check("*.example.com", "example.com", 443, false);
        check("*.example.com", "badexample.com", 443, false);
        check("*.example.com", ".example.com", 443, false);
        check("93.184.215.14:80", "93.184.215.14", 80, true);
        check("[2606::1]:80", "2606::1", 80, true);
        check("[2606::1]", "2606::1", 443, true);
    }

    #[test]
    fn bad_entries_say_how_to_write_them() {
        for (entry, problem) in [
            ("", "write a name"),
            ("*", "write a name"),
            ("*.com", "write a name"),
            ("a..b", "write a name"),
            ("https://example.com", "the port"),
            ("example.com/x", "write a name"),
            ("example.com:0", "the port"),
            ("example.com:+1", "the port"),
            ("::1", "brackets"),
            ("[::1", "the port"),
            ("bücher.example", "xn--"),
            ("a b.example", "write a name"),
        ] {
            let error = entry.parse::<HostRule>().unwrap_err();
            assert!(error.problem.contains(problem), "{entry}: {error}");
        }
    }

    #[test]
    fn an_entry_is_written_as_it_is_read() {
        for entry in ["example.com", "*.example.com:8443", "[::1]:80"] {
            assert_eq!(entry.parse::<HostRule>().unwrap().to_string(), entry);
        }
    }
}
