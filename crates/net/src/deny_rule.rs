//! The closed list of rules that deny a connection, with stable ids, and the refusal.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

macro_rules! rules {
    ($($variant:ident $id:literal $reason:literal,)+) => {
        /// The reason why a connection was denied. The id is stable: policies, traces and the
        /// output of `net check` use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $reason] $variant,)+
        }

        impl Rule {
            /// Every rule, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the stable id, such as `address.private`.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// Returns the kind of target that the rule denies, as a lowercase fragment that
            /// completes "refused: ...".
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)+ }
            }
        }
    };
}

rules! {
    Unspecified "address.unspecified" "the unspecified address, which reaches this host",
    ThisNetwork "address.this_network" "an address of this network (0.0.0.0/8, RFC 791)",
    Private "address.private" "a private address (RFC 1918)",
    Loopback "address.loopback" "a loopback address",
    LinkLocal "address.link_local" "a link-local address",
    Cgnat "address.cgnat" "a carrier-grade NAT address (100.64.0.0/10, RFC 6598)",
    Metadata "address.metadata" "the address of a cloud metadata service",
    Multicast "address.multicast" "a multicast address",
    Broadcast "address.broadcast" "the limited broadcast address",
    Documentation "address.documentation" "an address reserved for documentation",
    Benchmarking "address.benchmarking" "an address reserved for benchmarking (198.18.0.0/15, RFC 2544)",
    Reserved "address.reserved" "an address reserved by IANA",
    UniqueLocal "address.unique_local" "a unique local IPv6 address (fc00::/7, RFC 4193)",
    SiteLocal "address.site_local" "a site-local IPv6 address (fec0::/10, RFC 3879)",
    V4Compatible "address.v4_compatible" "an IPv4-compatible IPv6 address (::/96, RFC 4291)",
    Siit "address.siit" "an IPv4-translated IPv6 address (::ffff:0:0:0/96, RFC 2765)",
    Nat64 "address.nat64" "a NAT64 address, which embeds an IPv4 address (RFC 6052, RFC 8215)",
    SixToFour "address.6to4" "a 6to4 address, which embeds an IPv4 address (RFC 3056, RFC 7526)",
    Teredo "address.teredo" "a Teredo address, which embeds an IPv4 address (RFC 4380)",
    NotGlobalV6 "address.not_global_v6" "an IPv6 address outside global unicast (2000::/3)",
    OwnService "address.own_service" "a port at which Toolcrib itself listens",
    PeerMismatch "address.peer_mismatch" "another address than the checked one",
    UrlMalformed "url.malformed" "not a well-formed absolute http or https URL",
    UrlTooLong "url.too_long" "a URL longer than the limit",
    UrlScheme "url.scheme" "only http:// and https:// URLs are opened",
    UrlUserinfo "url.userinfo" "a URL with a user name or password",
    UrlPort "url.port" "a port of another protocol (bad port of the Fetch standard)",
    HostSingleLabel "host.single_label" "a name without a dot belongs to the local network",
    HostSpecialUse "host.special_use" "a name of a special-use or local domain",
    HostRebinding "host.rebinding" "a name of a wildcard DNS service that points anywhere",
    DnsUnresolvable "dns.unresolvable" "the name could not be resolved",
    DnsEmpty "dns.empty" "the name has no address",
    RedirectDowngrade "redirect.downgrade" "a redirect from https to http",
    RedirectUnsafe "redirect.cross_origin" "a redirect that would repeat a changing request at another origin",
}

impl Rule {
    /// Returns whether the owner may open a target that this rule denies: an address of their own
    /// machine or network. Addresses of metadata services and those that only disguise others stay
    /// closed.
    pub const fn is_openable(self) -> bool {
        matches!(
            self,
            Self::Private | Self::Loopback | Self::Cgnat | Self::UniqueLocal | Self::LinkLocal
        )
    }
}

impl Rule {
    /// Returns whether the address is one where services of the owner run: of this machine or of a
    /// private network. Link-local addresses are not: metadata services of clouds are among them.
    pub const fn is_private(self) -> bool {
        matches!(self, Self::Private | Self::Loopback | Self::UniqueLocal | Self::Cgnat)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// The reason why a connection is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowReason {
    /// Every address is globally reachable.
    Public,
    /// The owner's allow list opened the target.
    AllowList,
}

impl AllowReason {
    /// Returns the stable id: `public` or `allow_list`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::AllowList => "allow_list",
        }
    }
}

/// A refusal: the rule and its subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionDenied {
    /// The rule that denied.
    pub rule: Rule,
    /// The denied target: `host:port` if known, otherwise `url`. Never contains the URL's
    /// credentials.
    pub subject: String,
    /// The denied address, for rules about addresses.
    pub address: Option<IpAddr>,
    /// Additional detail; may be empty.
    pub detail: String,
    /// Origin of the response that redirected here, if the refusal followed a redirect.
    pub redirected_from: Option<String>,
}

impl ConnectionDenied {
    /// Creates a refusal of `subject` by `rule`, without address or detail.
    pub fn new(rule: Rule, subject: impl Into<String>) -> Self {
        Self {
            rule,
            subject: subject.into(),
            address: None,
            detail: String::new(),
            redirected_from: None,
        }
    }

    /// Sets the denied address.
    #[must_use]
    pub fn with_address(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets the detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Sets the origin that redirected here.
    #[must_use]
    pub fn redirected_from(mut self, origin: impl Into<String>) -> Self {
        self.redirected_from = Some(origin.into());
        self
    }
}

impl fmt::Display for ConnectionDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refused by {}: ", self.subject, self.rule)?;
        if let Some(address) = self.address {
            write!(f, "{address} is ")?;
        }
        f.write_str(self.rule.reason())?;
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        if let Some(origin) = &self.redirected_from {
            write!(f, ", redirected from {origin}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConnectionDenied {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_namespaced() {
        let ids: HashSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        for id in ids {
            let (space, name) = id.split_once('.').expect("namespace");
            assert!(["address", "url", "host", "dns", "redirect"].contains(&space), "{id}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        }
    }

    #[test]
    fn a_refusal_names_subject_rule_address_and_origin() {
        let denied = ConnectionDenied::new(Rule::Private, "intra.example.com:80")
            .with_address(IpAddr::from([10, 0, 0, 1]))
            .redirected_from("https://example.com");
        assert_eq!(
            denied.to_string(),
            "intra.example.com:80 refused by address.private: 10.0.0.1 is a private address \
             (RFC 1918), redirected from https://example.com"
        );
    }
}
