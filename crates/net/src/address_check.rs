//! The check behind `net check`: whether the client would connect to a URL, at which address, and
//! which rule denies it. It uses the same code as the client.

use std::collections::HashMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address_policy::AddressPolicy;
use crate::deny_rule::ConnectionDenied;
use crate::dns::{CheckedTarget, Resolve, StaticResolver, resolve_checked};
use crate::url_check::check_url;

/// Whether a connection would be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The client would connect.
    Allow,
    /// The client would refuse to connect.
    Deny,
}

/// The decision about one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Allowed or denied.
    pub verdict: Verdict,
    /// The rule that denies, or the reason why it is allowed: `public` or `allow_list`.
    pub rule: &'static str,
    /// The first address that would be connected to, or the denied one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The refusal with its message; not part of the JSON output.
    #[serde(skip)]
    pub denied: Option<ConnectionDenied>,
}

/// One input line of the JSON filter: `{id, url, dns?: {host: [address]}}`; other keys are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckRequest {
    /// Returned unchanged.
    #[serde(default)]
    pub id: Value,
    /// The URL to check.
    pub url: String,
    /// Addresses to use instead of DNS; a name that is not listed is unresolvable.
    #[serde(default)]
    pub dns: Option<HashMap<String, Vec<IpAddr>>>,
}

/// One output line of the JSON filter: `{id, verdict, rule, address?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReply {
    /// The id of the request.
    pub id: Value,
    /// The decision.
    #[serde(flatten)]
    pub check: Check,
}

/// Checks `url` as the first hop of a request would: its text, its name, then every address that
/// `resolver` returns.
pub async fn check(url: &str, resolver: &dyn Resolve, policy: &AddressPolicy) -> Check {
    match addresses(url, resolver, policy).await {
        Ok(checked) => Check {
            verdict: Verdict::Allow,
            rule: checked.allow.id(),
            address: checked.addresses.first().map(|addr| addr.ip()),
            denied: None,
        },
        Err(denied) => Check {
            verdict: Verdict::Deny,
            rule: denied.rule.id(),
            address: denied.address,
            denied: Some(denied),
        },
    }
}

async fn addresses(
    url: &str,
    resolver: &dyn Resolve,
    policy: &AddressPolicy,
) -> Result<CheckedTarget, ConnectionDenied> {
    let target = check_url(url, policy)?;
    resolve_checked(&target, resolver, policy).await
}

/// Answers one line of the filter; `resolver` is used only if the line has no `dns` table.
pub async fn check_all(
    request: CheckRequest,
    resolver: &dyn Resolve,
    policy: &AddressPolicy,
) -> CheckReply {
    let check = match request.dns {
        Some(dns) => {
            check(&request.url, &dns.into_iter().collect::<StaticResolver>(), policy).await
        }
        None => check(&request.url, resolver, policy).await,
    };
    CheckReply { id: request.id, check }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn the_filter_answers_line_by_line() {
        let rows = [
            (
                json!({"id": 1, "url": "https://example.com/", "dns": {"example.com": ["93.184.215.14"]}}),
                json!({"id": 1, "verdict": "allow", "rule": "public", "address": "93.184.215.14"}),
            ),
            (
                json!({"id": "b", "url": "https://example.com/", "dns": {"example.com": ["8.8.8.8", "10.0.0.1"]}}),
                json!({"id": "b", "verdict": "deny", "rule": "address.private", "address": "10.0.0.1"}),
            ),
            (
                json!({"id": 3, "url": "https://example.com/", "dns": {}}),
                json!({"id": 3, "verdict": "deny", "rule": "dns.unresolvable"}),
            ),
            (
                json!({"id": 4, "url": "https://example.com/", "dns": {"example.com": []}}),
                json!({"id": 4, "verdict": "deny", "rule": "dns.empty"}),
            ),
            (
                json!({"id": 5, "url": "http://2130706433/"}),
                json!({"id": 5, "verdict": "deny", "rule": "address.loopback", "address": "127.0.0.1"}),
            ),
            (
                json!({"url": "http://10.0.0.9/"}),
                json!({"id": null, "verdict": "allow", "rule": "allow_list", "address": "10.0.0.9"}),
            ),
            (
                json!({"id": 7, "url": "https://given.example.com/"}),
                json!({"id": 7, "verdict": "allow", "rule": "public", "address": "1.1.1.1"}),
            ),
        ];
        let policy = AddressPolicy::with_allowed(["10.0.0.9:80"]).expect("policy");
        let resolver = StaticResolver::parse(["given.example.com=1.1.1.1"]).expect("table");
        for (line, expected) in rows {
            let request = serde_json::from_value(line.clone()).expect("request");
            let reply = check_all(request, &resolver, &policy).await;
            assert_eq!(serde_json::to_value(reply).expect("reply"), expected, "{line}");
        }
    }
}
