//! Patterns of hosts: `WebFetch(domain:example.com)`.
#![deny(clippy::indexing_slicing)]

use url::{Host, Url};

/// A host, or the hosts below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    /// Normalised as in an address: lower case, in its ASCII form, without a final dot. Empty for
    /// every host.
    host: String,
    /// Only the hosts below it: `*.example.com`.
    below_only: bool,
    is_name: bool,
}

impl HostPattern {
    /// Parses the text after `domain:`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self { host: String::new(), below_only: false, is_name: true });
        }
        if let Ok(url) = Url::parse(text)
            && let Some(host) = url.host_str()
            && text.contains("//")
        {
            return Err(format!("a domain is a host without scheme and path; write domain:{host}"));
        }
        let (name, below_only) = match text.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        if name.contains('*') {
            let tail = name.rsplit("*.").next().unwrap_or(name).replace('*', "");
            return Err(format!(
                "a * only matches whole labels at the start; write domain:*.{tail}"
            ));
        }
        if let Some((host, _)) = name.split_once(['/', '@', '?', '#']) {
            return Err(format!("a domain is a host alone; write domain:{host}"));
        }
        let host = Host::parse(name.trim_end_matches('.'));
        match host {
            Ok(Host::Domain(host)) if !host.is_empty() => {
                Ok(Self { host: host.trim_end_matches('.').to_owned(), below_only, is_name: true })
            }
            Ok(host @ (Host::Ipv4(_) | Host::Ipv6(_))) if !below_only => {
                Ok(Self { host: host.to_string(), below_only, is_name: false })
            }
            _ => Err(match name.rsplit_once(':') {
                Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
                    format!("rules ignore ports; write domain:{host}")
                }
                _ => format!("\"{text}\" is not a host; write domain:example.com"),
            }),
        }
    }

    /// Returns whether the pattern matches every host.
    pub(super) fn is_every(&self) -> bool {
        self.host.is_empty()
    }

    /// Returns whether the pattern matches a host. In strict mode, for deny and ask rules, a host
    /// also matches all hosts below it; otherwise it matches itself alone.
    pub(super) fn matches(&self, host: &str, strictly: bool) -> bool {
        if self.host.is_empty() {
            return true;
        }
        let below = || {
            self.is_name
                && host.strip_suffix(self.host.as_str()).is_some_and(|head| head.ends_with('.'))
        };
        if self.below_only { below() } else { host == self.host || (strictly && below()) }
    }

    /// Returns one spelling for all equivalent patterns.
    pub(super) fn canonical(&self) -> String {
        format!("domain:{}{}", if self.below_only { "*." } else { "" }, self.host)
    }
}

/// Returns the host that a request to this address would connect to; `None` if it is not a valid
/// address.
pub(super) fn host_of(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    let host = url.host_str()?.trim_end_matches('.').to_lowercase();
    Some(host).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (pattern, address, strictly, loosely) in [
            ("example.com", "https://example.com/x", true, true),
            ("example.com", "https://EXAMPLE.com./x", true, true),
            ("example.com", "https://example.com:8443", true, true),
            ("example.com", "https://api.example.com", true, false),
            ("example.com", "https://badexample.com", false, false),
            ("example.com", "https://example.com@evil.com", false, false),
            ("evil.com", "https://example.com@evil.com", true, true),
            ("example.com", "https://evil.com/example.com", false, false),
            ("example.com", "https://evil.com\\@example.com", false, false),
            ("*.example.com", "https://a.b.example.com", true, true),
            ("*.example.com", "https://example.com", false, false),
            ("EXAMPLE.com", "https://example.com", true, true),
            ("bücher.example", "https://xn--bcher-kva.example", true, true),
            ("xn--bcher-kva.example", "https://BÜCHER.example", true, true),
            ("127.0.0.1", "http://0x7f.1/", true, true),
            ("127.0.0.1", "http://2130706433/", true, true),
            ("[::1]", "http://[0:0::1]:80/", true, true),
            ("example.com", "https://ex%61mple.com", true, true),
            ("*", "ftp://x/", true, true),
        ] {
            let pattern_of = HostPattern::parse(pattern).expect(pattern);
            let host = host_of(address).expect(address);
            assert_eq!(pattern_of.matches(&host, true), strictly, "{pattern} {address}");
            assert_eq!(pattern_of.matches(&host, false), loosely, "{pattern} {address}");
        }
        for address in ["", "nonsense", "https://", "mailto:a@b.c"] {
            assert_eq!(host_of(address), None, "{address}");
        }
    }

    #[test]
    fn patterns_that_are_refused() {
        for (text, says) in [
            ("https://example.com/x", "write domain:example.com"),
            ("example.com/x", "write domain:example.com"),
            ("example.com:443", "write domain:example.com"),
            ("exam*.com", "*"),
            ("", "is not a host"),
            ("*.127.0.0.1", "is not a host"),
        ] {
            let error = HostPattern::parse(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
