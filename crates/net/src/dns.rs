//! Name resolution with a check of every address. A hop resolves once and connects only to checked
//! addresses.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use crate::address_policy::AddressPolicy;
use crate::deny_rule::{AllowReason, ConnectionDenied, Rule};
use crate::url_check::{Host, Target, host_of};

/// A boxed future, so that [`Resolve`] can be a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of addresses.
pub trait Resolve: Send + Sync {
    /// Returns all addresses of `name` (lowercase ASCII, no trailing dot), A and AAAA, in the order
    /// to try them.
    ///
    /// An error means that there was no answer; an empty list means that the name exists without
    /// addresses.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver (`getaddrinfo`): the hosts file, then DNS.
///
/// A lookup runs on a blocking thread and cannot be canceled there; an abandoned lookup ends by its
/// own timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|addr| addr.ip()).collect())
        })
    }
}

/// A fixed table of names: for `--resolve`, for a given DNS map, and for tests. Other names are
/// unresolvable; it never uses the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticResolver {
    names: HashMap<String, Vec<IpAddr>>,
}

/// A `HOST=ADDR` argument that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {0:?}: write HOST=ADDR, such as example.com=93.184.215.14")]
pub struct StaticEntryError(pub String);

impl StaticResolver {
    /// Adds addresses to a name. The name is normalized like in a URL; a name that is invalid in
    /// URLs is ignored.
    pub fn insert(&mut self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        if let Some(name) = normalise(name) {
            self.names.entry(name).or_default().extend(addresses);
        }
    }

    /// Parses `HOST=ADDR[,ADDR|,HOST=ADDR]...`, each argument a list; an address without a host
    /// belongs to the preceding host.
    ///
    /// # Errors
    /// The first item that is neither `HOST=ADDR` nor an address after one.
    pub fn parse<I>(arguments: I) -> Result<Self, StaticEntryError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut table = Self::default();
        for argument in arguments {
            table.add_list(argument.as_ref())?;
        }
        Ok(table)
    }

    fn add_list(&mut self, list: &str) -> Result<(), StaticEntryError> {
        let mut host = None;
        for piece in list.split(',') {
            let unreadable = || StaticEntryError(piece.to_owned());
            let (name, address) = match piece.split_once('=') {
                Some((name, address)) => (name.trim(), address),
                None => (host.ok_or_else(unreadable)?, piece),
            };
            if normalise(name).is_none() {
                return Err(unreadable());
            }
            let address = address.trim().trim_start_matches('[').trim_end_matches(']');
            self.insert(name, [address.parse().map_err(|_| unreadable())?]);
            host = Some(name);
        }
        Ok(())
    }
}

impl<K: AsRef<str>> FromIterator<(K, Vec<IpAddr>)> for StaticResolver {
    fn from_iter<I: IntoIterator<Item = (K, Vec<IpAddr>)>>(pairs: I) -> Self {
        let mut table = Self::default();
        for (name, addresses) in pairs {
            table.insert(name.as_ref(), addresses);
        }
        table
    }
}

impl Resolve for StaticResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = self.names.get(name).cloned();
        let missing = || io::Error::new(io::ErrorKind::NotFound, "not in the given table");
        Box::pin(std::future::ready(found.ok_or_else(missing)))
    }
}

/// Normalizes a name to the form of [`Target`]; `None` if it is invalid in URLs.
fn normalise(name: &str) -> Option<String> {
    let url = url::Url::parse(&format!("http://{name}/")).ok()?;
    match host_of(&url).ok()? {
        Host::Name(name) => Some(name),
        Host::Addr(_) => None,
    }
}

/// The addresses of a target, all checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTarget {
    /// Addresses to connect to, in the resolver's order, without duplicates; never empty.
    pub addresses: Vec<SocketAddr>,
    /// The reason why they are allowed.
    pub allow: AllowReason,
}

/// Resolves the host of `target` once and checks every address; a literal address needs no lookup.
///
/// # Errors
/// The rule of the first denied address. One denied address denies the name, because the order of
/// the addresses can change. `dns.unresolvable` and `dns.empty` if there is no address to check.
pub async fn resolve_checked(
    target: &Target,
    resolver: &dyn Resolve,
    policy: &AddressPolicy,
) -> Result<CheckedTarget, ConnectionDenied> {
    let found = match target.host() {
        Host::Addr(ip) => vec![*ip],
        Host::Name(name) => resolver.resolve(name).await.map_err(|error| {
            ConnectionDenied::new(Rule::DnsUnresolvable, target.authority())
                .with_detail(error.to_string())
        })?,
    };
    let mut checked =
        CheckedTarget { addresses: Vec::with_capacity(found.len()), allow: AllowReason::Public };
    for ip in found {
        let ip = ip.to_canonical();
        let reason = policy
            .evaluate(target.host(), ip, target.port())
            .map_err(|rule| ConnectionDenied::new(rule, target.authority()).with_address(ip))?;
        if reason == AllowReason::AllowList {
            checked.allow = reason;
        }
        let address = SocketAddr::new(ip, target.port());
        if !checked.addresses.contains(&address) {
            checked.addresses.push(address);
        }
    }
    if checked.addresses.is_empty() {
        return Err(ConnectionDenied::new(Rule::DnsEmpty, target.authority()));
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url_check::check_url;

    fn ips(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|ip| ip.parse().expect(ip)).collect()
    }

    #[tokio::test]
    async fn any_refused_answer_refuses_the_name() {
        let rows: [(&[&str], &str); 7] = [
            (&["93.184.215.14", "2606:4700::1111"], "public"),
            (&["93.184.215.14", "10.0.0.1"], "address.private"),
            (&["93.184.215.14", "::1"], "address.loopback"),
            (&["::ffff:169.254.169.254"], "address.metadata"),
            (&["64:ff9b::7f00:1"], "address.nat64"),
            (&["0.0.0.0"], "address.unspecified"),
            (&[], "dns.empty"),
        ];
        let policy = AddressPolicy::default();
        let target = check_url("https://site.example.com/", &policy).expect("target");
        for (answer, expected) in rows {
            let resolver = StaticResolver::from_iter([("Site.example.com.", ips(answer))]);
            let found = resolve_checked(&target, &resolver, &policy).await;
            let id =
                found.as_ref().map_or_else(|denied| denied.rule.id(), |checked| checked.allow.id());
            assert_eq!(id, expected, "{answer:?}");
        }
    }

    #[tokio::test]
    async fn answers_are_canonical_and_listed_once() {
        let policy = AddressPolicy::with_allowed(["10.0.0.0/8:80"]).expect("policy");
        let target = check_url("http://site.example.com/", &policy).expect("target");
        let answer = ips(&["10.1.2.3", "::ffff:10.1.2.3", "8.8.8.8"]);
        let resolver = StaticResolver::from_iter([("site.example.com", answer)]);
        let checked = resolve_checked(&target, &resolver, &policy).await.expect("allowed");
        let expected = ["10.1.2.3:80", "8.8.8.8:80"].map(|addr| addr.parse().expect(addr));
        assert_eq!(checked.addresses, expected);
        assert_eq!(checked.allow, AllowReason::AllowList);
    }

    #[tokio::test]
    async fn arguments_list_hosts_and_addresses() {
        let table = StaticResolver::parse([
            "a.example.com=1.1.1.1,::1,B.example.com=[2606::1]",
            "a.example.com=8.8.8.8",
        ]);
        let table = table.expect("arguments");
        let a = table.resolve("a.example.com").await.expect("a");
        assert_eq!(a, ips(&["1.1.1.1", "::1", "8.8.8.8"]));
        assert_eq!(table.resolve("b.example.com").await.expect("b"), ips(&["2606::1"]));
        assert!(table.resolve("c.example.com").await.is_err());
        for bad in [
            "",
            "1.1.1.1",
            "a.example.com",
            "a.example.com=",
            "a.example.com=x",
            "=1.1.1.1",
            "a=1.1.1.1,",
        ] {
            assert!(StaticResolver::parse([bad]).is_err(), "{bad}");
        }
    }
}
