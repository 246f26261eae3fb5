//! Address policy: the table of blocked addresses plus the owner's allow list of exact targets.
#![deny(clippy::indexing_slicing)]

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use url::Url;

use crate::blocked_addresses::{AddressClass, classify};
use crate::deny_rule::{AllowReason, Rule};
use crate::own_ports::OwnPorts;
use crate::url_check::{Host, host_of};

/// The addresses that may be connected to: all public ones, plus those that the owner's allow list
/// opens.
///
/// An entry is one of
/// - `host:port`: this name at this port. It may be a local or single-label name, and may resolve
///   to private, loopback, unique local and carrier-grade NAT addresses, but to no other blocked
///   range, so that a hijacked name cannot reach a metadata service.
/// - `address:port` or `[v6]:port`: this address, even a blocked one, at this port.
/// - `network/prefix` or `network/prefix:port`: every address of the network, at every port or at
///   this port. A cloud metadata address needs a separate entry (`/32`, `/128`).
///
/// An entry with a port opens that port even if the Fetch standard blocks it. There are no
/// wildcards.
///
/// ```
/// use toolcrib_net::{AddressPolicy, AllowReason, Host, Rule, check_url};
///
/// let policy = AddressPolicy::with_allowed(["db.lan:5432", "10.1.0.0/16:8080"])?;
/// let evaluate = |host: &Host, ip: &str, port| policy.evaluate(host, ip.parse().unwrap(), port);
///
/// let name = Host::Name("db.lan".to_owned());
/// assert_eq!(evaluate(&name, "192.168.1.9", 5432), Ok(AllowReason::AllowList));
/// assert!(evaluate(&name, "192.168.1.9", 22).is_err());
/// // An allowed name opens no metadata service, regardless of its addresses.
/// assert_eq!(evaluate(&name, "169.254.169.254", 5432), Err(Rule::Metadata));
///
/// // A whole URL; the addresses of a name are checked again when it is resolved.
/// assert!(check_url("http://10.1.2.3:8080/", &policy).is_ok());
/// assert!(check_url("http://127.0.0.1:8080/", &policy).is_err());
/// # Ok::<(), toolcrib_net::AllowEntryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    entries: Vec<AllowEntry>,
    own: OwnPorts,
}

/// One entry of the owner's allow list; parse it with [`str::parse`]. The forms are those of
/// [`AddressPolicy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowEntry(Entry);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Name { host: String, port: u16 },
    Net { net: IpNet, port: Option<u16> },
}

/// An allow-list entry that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allow-list entry {entry:?}: {problem}")]
pub struct AllowEntryError {
    /// The entry as written.
    pub entry: String,
    /// The problem, and the correct form.
    pub problem: &'static str,
}

impl AddressPolicy {
    /// Returns a policy that allows only public addresses.
    pub fn public_only() -> Self {
        Self::default()
    }

    /// Creates a policy with these allow-list entries.
    ///
    /// # Errors
    /// The first entry that cannot be parsed.
    pub fn with_allowed<I>(entries: I) -> Result<Self, AllowEntryError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let entries = entries.into_iter().map(|entry| entry.as_ref().parse());
        Ok(Self { entries: entries.collect::<Result<_, _>>()?, own: OwnPorts::default() })
    }

    /// Returns the same policy with one more entry.
    #[must_use]
    pub fn with_entry(mut self, entry: AllowEntry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Blocks these ports of this machine, even if an entry allows them.
    #[must_use]
    pub fn with_blocked_ports(mut self, own: OwnPorts) -> Self {
        self.own = own;
        self
    }

    /// Returns whether the allow list contains `host:port` itself; a literal address also matches
    /// as part of a network.
    pub(crate) fn allows(&self, host: &Host, port: u16) -> bool {
        match host {
            Host::Name(name) => self.opens_name(name, port),
            Host::Addr(ip) => self.opens_address(*ip, port),
        }
    }

    /// Returns whether an entry allows exactly this port for the host, which overrides the list of
    /// blocked ports.
    pub(crate) fn allows_port(&self, host: &Host, port: u16) -> bool {
        self.entries.iter().any(|AllowEntry(entry)| match (entry, host) {
            (Entry::Name { .. }, _) => entry.matches_name(host, port),
            (Entry::Net { net, port: Some(own) }, Host::Addr(ip)) => {
                *own == port && net.contains(ip)
            }
            (Entry::Net { .. }, _) => false,
        })
    }

    /// Checks a connection from `host` to the address `ip` (one of its resolved addresses, or
    /// itself) at `port`.
    ///
    /// # Errors
    /// The rule that denies the address.
    pub fn evaluate(&self, host: &Host, ip: IpAddr, port: u16) -> Result<AllowReason, Rule> {
        if self.own.contains(ip, port) {
            return Err(Rule::OwnService);
        }
        let AddressClass::Refused(rule) = classify(ip) else {
            return Ok(AllowReason::Public);
        };
        let by_name =
            || rule.is_private() && matches!(host, Host::Name(name) if self.opens_name(name, port));
        if self.opens_address(ip, port) || by_name() {
            Ok(AllowReason::AllowList)
        } else {
            Err(rule)
        }
    }

    fn opens_name(&self, name: &str, port: u16) -> bool {
        self.entries.iter().any(|AllowEntry(entry)| {
            matches!(entry, Entry::Name { host, port: own } if host == name && *own == port)
        })
    }

    fn opens_address(&self, ip: IpAddr, port: u16) -> bool {
        let ip = ip.to_canonical();
        let metadata = classify(ip) == AddressClass::Refused(Rule::Metadata);
        self.entries.iter().any(|AllowEntry(entry)| match entry {
            Entry::Net { net, port: own } => {
                net.contains(&ip)
                    && own.is_none_or(|own| own == port)
                    && (!metadata || net.prefix_len() == net.max_prefix_len())
            }
            Entry::Name { .. } => false,
        })
    }
}

impl Entry {
    fn matches_name(&self, host: &Host, port: u16) -> bool {
        matches!((self, host), (Self::Name { host: own, port: at }, Host::Name(name)) if own == name && *at == port)
    }
}

impl FromStr for AllowEntry {
    type Err = AllowEntryError;

    fn from_str(entry: &str) -> Result<Self, Self::Err> {
        let parsed = if entry.contains("://") {
            Err("write host:port without a scheme")
        } else if entry.contains('*') {
            Err("there are no wildcards, write each host:port")
        } else if entry.contains('/') {
            network(entry)
        } else {
            exact(entry)
        };
        parsed.map(Self).map_err(|problem| AllowEntryError { entry: entry.to_owned(), problem })
    }
}

/// Parses `network/prefix[:port]`, IPv6 also in brackets (`[fd00::/8]:443`).
fn network(entry: &str) -> Result<Entry, &'static str> {
    const FORM: &str = "write a network as 10.0.0.0/8 or 10.0.0.0/8:443";
    let (address, tail) = entry.rsplit_once('/').ok_or(FORM)?;
    let (prefix, port) = match tail.split_once(':') {
        Some((prefix, port)) => (prefix, Some(port_number(port)?)),
        None => (tail, None),
    };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let prefix = prefix.trim_end_matches(']');
    let ip: IpAddr = address.parse().map_err(|_| FORM)?;
    if ip != ip.to_canonical() {
        return Err("write an IPv4-mapped network as IPv4");
    }
    let net = IpNet::new(ip, prefix.parse().map_err(|_| FORM)?)
        .map_err(|_| "the prefix is longer than the address")?;
    if net.trunc() != net {
        return Err("the network has bits set after its prefix");
    }
    Ok(Entry::Net { net, port })
}

/// Parses `host:port`, `address:port` or `[v6]:port`, normalized like a URL, so that the two
/// compare equal.
fn exact(entry: &str) -> Result<Entry, &'static str> {
    const FORM: &str = "write host:port, such as intranet.example.com:8080";
    if let Ok(ip) = entry.parse::<IpAddr>() {
        return Err(match ip {
            IpAddr::V4(_) => "add the port (127.0.0.1:8080), or /32 for every port",
            IpAddr::V6(_) => "write [address]:port, or add /128 for every port",
        });
    }
    let (host, port) = entry.rsplit_once(':').ok_or(FORM)?;
    let port = port_number(port)?;
    let foreign = |c: char| c.is_whitespace() || c.is_control() || "?#@\\%".contains(c);
    if host.is_empty() || host.contains(foreign) {
        return Err(FORM);
    }
    if host.contains(':') && !host.starts_with('[') {
        return Err("one port only, and an IPv6 address as [address]:port");
    }
    let url = Url::parse(&format!("http://{host}/")).map_err(|_| FORM)?;
    match host_of(&url).map_err(|_| FORM)? {
        Host::Name(host) => Ok(Entry::Name { host, port }),
        Host::Addr(ip) => Ok(Entry::Net { net: ip.into(), port: Some(port) }),
    }
}

fn port_number(text: &str) -> Result<u16, &'static str> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let port = if digits { text.parse().unwrap_or(0) } else { 0 };
    if port == 0 { Err("the port is a number from 1 to 65535") } else { Ok(port) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(host: &str) -> Host {
        Host::Name(host.to_owned())
    }

    fn addr(ip: &str) -> Host {
        Host::Addr(ip.parse().expect(ip))
    }

    /// Asserts the rule id for `host` resolving to `ip`.
    fn check(allow: &[&str], host: Host, ip: &str, port: u16, expected: &str) {
        let policy = AddressPolicy::with_allowed(allow).expect("entries");
        let id = match policy.evaluate(&host, ip.parse().expect(ip), port) {
            Ok(reason) => reason.id(),
            Err(rule) => rule.id(),
        };
        assert_eq!(id, expected, "{allow:?} {host:?} {ip} {port}");
    }

    #[test]
    fn entries_open_exactly_their_target() {
        let own = [
            "127.0.0.1:8080",
            "[fd00::1]:443",
            "intra.example.com:8080",
            "10.1.0.0/16",
            "172.16.0.0/12:443",
        ];
        check(&own, addr("127.0.0.1"), "127.0.0.1", 8080, "allow_list");
        check(&own, addr("127.0.0.1"), "::ffff:127.0.0.1", 8080, "allow_list");
        check(&own, addr("127.0.0.1"), "127.0.0.1", 8081, "address.loopback");
        check(&own, addr("127.0.0.2"), "127.0.0.2", 8080, "address.loopback");
        check(&own, addr("fd00::1"), "fd00::1", 443, "allow_list");
        check(&own, name("other.example.com"), "127.0.0.1", 8080, "allow_list");
        check(&own, name("intra.example.com"), "192.168.3.4", 8080, "allow_list");
        check(&own, name("intra.example.com"), "192.168.3.4", 80, "address.private");
        check(&own, name("intra.example.com"), "93.184.215.14", 8080, "public");
        check(&own, name("x.intra.example.com"), "192.168.3.4", 8080, "address.private");
        check(&own, addr("10.1.255.255"), "10.1.255.255", 1234, "allow_list");
        check(&own, addr("10.2.0.0"), "10.2.0.0", 1234, "address.private");
        check(&own, addr("172.20.0.1"), "172.20.0.1", 443, "allow_list");
        check(&own, addr("172.20.0.1"), "172.20.0.1", 80, "address.private");
    }

    #[test]
    fn own_ports_stay_closed_whatever_is_opened() {
        let own = OwnPorts::default();
        let open = ["0.0.0.0/0", "::/0", "local.example.com:7000", "127.0.0.1:7000"];
        let policy =
            AddressPolicy::with_allowed(open).expect("entries").with_blocked_ports(own.clone());
        let judge =
            |host: Host, ip: &str, port| policy.evaluate(&host, ip.parse().expect(ip), port);
        assert!(judge(addr("127.0.0.1"), "127.0.0.1", 7000).is_ok());
        own.block(7000);
        let spellings = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"];
        for ip in spellings {
            assert_eq!(judge(addr(ip), ip, 7000), Err(Rule::OwnService), "{ip}");
            assert_eq!(judge(name("local.example.com"), ip, 7000), Err(Rule::OwnService), "{ip}");
        }
        assert!(judge(addr("127.0.0.1"), "127.0.0.1", 7001).is_ok());
        assert!(judge(addr("192.0.2.1"), "192.0.2.1", 7000).is_ok());
    }

    #[test]
    fn metadata_needs_an_entry_of_its_own() {
        check(&["169.254.0.0/16"], addr("169.254.1.1"), "169.254.1.1", 80, "allow_list");
        check(
            &["169.254.0.0/16"],
            addr("169.254.169.254"),
            "169.254.169.254",
            80,
            "address.metadata",
        );
        check(
            &["meta.example.com:80"],
            name("meta.example.com"),
            "169.254.169.254",
            80,
            "address.metadata",
        );
        check(
            &["169.254.169.254:80"],
            addr("169.254.169.254"),
            "169.254.169.254",
            80,
            "allow_list",
        );
        check(
            &["169.254.169.254/32"],
            addr("169.254.169.254"),
            "169.254.169.254",
            80,
            "allow_list",
        );
    }

    #[test]
    fn names_are_normalised_as_urls_are() {
        for entry in
            ["Intra.Example.COM:8080", "intra.example.com.:8080", "ｉｎｔｒａ.example.com:8080"]
        {
            check(&[entry], name("intra.example.com"), "10.0.0.1", 8080, "allow_list");
        }
        check(&["0x7f.1:8080"], addr("127.0.0.1"), "127.0.0.1", 8080, "allow_list");
    }

    #[test]
    fn bad_entries_say_how_to_write_them() {
        let rows = [
            ("", "write host:port"),
            ("localhost", "write host:port"),
            ("127.0.0.1", "add the port"),
            ("::1", "write [address]:port"),
            ("fd00::1:80", "/128"),
            ("localhost:0", "the port is a number"),
            ("localhost:+80", "the port is a number"),
            ("localhost:65536", "the port is a number"),
            ("http://localhost:80", "without a scheme"),
            ("*.example.com:443", "no wildcards"),
            ("user@host:80", "write host:port"),
            ("ho st:80", "write host:port"),
            ("10.0.0.1/8", "bits set after its prefix"),
            ("10.0.0.0/33", "longer than the address"),
            ("10.0.0.0/8:0", "the port is a number"),
            ("::ffff:10.0.0.0/104", "as IPv4"),
            ("example.com/24", "write a network"),
            ("host:80:90", "[address]:port"),
        ];
        for (entry, problem) in rows {
            let error = entry.parse::<AllowEntry>().expect_err(entry);
            assert!(error.to_string().contains(problem), "{entry}: {error}");
        }
        for entry in ["[fd00::/8]:443", "fd00::/8:443", "fd00::/8", "0.0.0.0/0", "[::1]:80"] {
            entry.parse::<AllowEntry>().expect(entry);
        }
    }
}
