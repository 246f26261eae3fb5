//! Addresses at which an app may listen: this machine and private networks by address, other
//! machines by https. The owner confirms each address before anything connects to it.

use std::fmt;

use toolcrib_net::{AddressClass, AllowEntry, Host, HttpClient, check_url, classify};
use url::Url;

/// An address that an app cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address {address} cannot be used: {why}")]
pub struct AddressError {
    /// The address as written, without control characters.
    pub address: String,
    /// Why, and the correct form.
    pub why: String,
}

/// The address of an app: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppAddress {
    url: String,
    /// The target that the address policy has to open, such as `127.0.0.1:7811`.
    opens: Option<String>,
}

impl AppAddress {
    /// Parses an address such as `http://127.0.0.1:7811`.
    ///
    /// # Errors
    /// [`AddressError`]: a name over http (the owner of a name can change its addresses later), a
    /// public address over http, an address of a service of the cloud or of the network, a path, or
    /// an unusual spelling that hides the address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let refused = |why: &str| AddressError {
            address: text.chars().filter(|c| !c.is_control()).take(100).collect(),
            why: why.to_owned(),
        };
        let given = text.strip_suffix('/').unwrap_or(text);
        let given = given.replacen("//localhost:", "//127.0.0.1:", 1);
        let url = Url::parse(&given)
            .map_err(|error| refused(&format!("{error}; write it as http://127.0.0.1:PORT")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it begins with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has no user name and no password"));
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(refused("it has no path; the protocol has the paths"));
        }
        let Some(port) = url.port_or_known_default().filter(|port| *port != 0) else {
            return Err(refused("it has no port"));
        };
        let is_https = url.scheme() == "https";
        let opens = match (url.host(), is_https) {
            (Some(url::Host::Domain(_)), true) => None,
            (Some(url::Host::Domain(_)), false) => {
                return Err(refused(
                    "a name needs https, because its addresses can change after you confirmed it; write the address itself, such as http://127.0.0.1:PORT",
                ));
            }
            (Some(url::Host::Ipv4(ip)), _) => opens(ip.into(), port, is_https, &refused)?,
            (Some(url::Host::Ipv6(ip)), _) => opens(ip.into(), port, is_https, &refused)?,
            (None, _) => return Err(refused("it has no host")),
        };
        let host = url.host_str().unwrap_or_default();
        let plain = match url.port() {
            Some(port) => format!("{}://{host}:{port}", url.scheme()),
            None => format!("{}://{host}", url.scheme()),
        };
        if plain != given {
            return Err(refused(&format!("write it as {plain}")));
        }
        Ok(Self { url: plain, opens })
    }

    /// Returns the URL of a path of the app.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Returns a client that reaches this address and otherwise what `client` reaches.
    ///
    /// # Errors
    /// [`AddressError`] if the policy still denies the address, such as a port of this program.
    pub fn client(&self, client: &HttpClient) -> Result<HttpClient, AddressError> {
        let refused = |why: String| AddressError { address: self.url.clone(), why };
        let client = match &self.opens {
            Some(target) => {
                let entry: AllowEntry = target
                    .parse()
                    .map_err(|error: toolcrib_net::AllowEntryError| refused(error.to_string()))?;
                client.with_opened(entry)
            }
            None => client.clone(),
        };
        let target = check_url(&self.url("/"), client.policy());
        let target = target.map_err(|denied| refused(denied.to_string()))?;
        if let Host::Addr(ip) = target.host() {
            let allowed = client.policy().evaluate(target.host(), *ip, target.port());
            allowed.map_err(|rule| refused(rule.reason().to_owned()))?;
        }
        Ok(client)
    }
}

impl fmt::Display for AppAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Returns the target that has to be opened for a literal address.
fn opens(
    ip: std::net::IpAddr,
    port: u16,
    is_https: bool,
    refused: &dyn Fn(&str) -> AddressError,
) -> Result<Option<String>, AddressError> {
    if ip != ip.to_canonical() {
        return Err(refused("write the IPv4 address itself"));
    }
    match classify(ip) {
        AddressClass::Public if is_https => Ok(None),
        AddressClass::Public => Err(refused(
            "a public address needs https, because others on the way could read the calls",
        )),
        AddressClass::Refused(rule) if rule.is_private() => {
            Ok(Some(std::net::SocketAddr::new(ip, port).to_string()))
        }
        AddressClass::Refused(rule) => Err(refused(&format!("it is {}", rule.reason()))),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_net::AddressPolicy;

    use super::*;

    #[test]
    fn addresses_of_this_machine_and_private_networks_are_taken() {
        for (text, url) in [
            ("http://127.0.0.1:7811", "http://127.0.0.1:7811"),
            ("http://127.0.0.1:7811/", "http://127.0.0.1:7811"),
            ("http://localhost:7811", "http://127.0.0.1:7811"),
            ("http://192.168.1.9:80/", "http://192.168.1.9"),
            ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
            ("http://[::1]:7811", "http://[::1]:7811"),
            ("http://[fd12::1]:7811", "http://[fd12::1]:7811"),
            ("https://apps.example.org", "https://apps.example.org"),
            ("https://1.1.1.1:8443", "https://1.1.1.1:8443"),
        ] {
            match AppAddress::parse(text) {
                Ok(address) => assert_eq!(address.to_string(), url),
                // The default port is left out of a URL; the text says how to write it.
                Err(error) => assert!(error.why.contains(url), "{text}: {error}"),
            }
        }
        let address = AppAddress::parse("http://127.0.0.1:7811").unwrap();
        let client = address.client(&HttpClient::new(AddressPolicy::default())).unwrap();
        assert!(check_url("http://127.0.0.1:7811/x", client.policy()).is_ok());
        assert!(check_url("http://127.0.0.1:7812/x", client.policy()).is_err());
    }

    #[test]
    fn all_other_addresses_are_refused() {
        for (text, part) in [
            ("http://169.254.169.254", "metadata"),
            ("http://169.254.1.1:80", ""),
            ("http://[fe80::1]:80", ""),
            ("http://0.0.0.0:7811", "unspecified"),
            ("http://[::]:7811", "unspecified"),
            ("http://[::ffff:127.0.0.1]:7811", "IPv4"),
            ("http://2130706433:7811", "write it as http://127.0.0.1:7811"),
            ("http://0x7f.1:7811", "write it as"),
            ("http://apps.example.org", "a name needs https"),
            ("http://rebind.example:7811", "a name needs https"),
            ("http://1.1.1.1:80", "a public address needs https"),
            ("http://me:pw@127.0.0.1:7811", "no user name"),
            ("http://127.0.0.1:7811/admin", "no path"),
            ("http://127.0.0.1:7811?x", "no path"),
            ("http://127.0.0.1:0", "no port"),
            ("ftp://127.0.0.1", "begins with"),
            ("file:///etc/passwd", "begins with"),
            ("unix:/run/x", "begins with"),
            ("127.0.0.1:7811", ""),
            ("", ""),
        ] {
            let error = AppAddress::parse(text).expect_err(text);
            assert!(error.why.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_port_of_this_program_is_refused() {
        let own = toolcrib_net::OwnPorts::default();
        own.block(7811);
        let client = HttpClient::new(AddressPolicy::default().with_blocked_ports(own));
        let address = AppAddress::parse("http://127.0.0.1:7811").unwrap();
        let error = address.client(&client).unwrap_err();
        assert!(error.why.contains("Toolcrib itself"), "{error}");
    }
}
