//! The HTTP client for servers that the owner configured: a notification channel, a calendar.

use toolcrib_net::{AllowEntry, HttpClient};
use url::Url;

/// Creates a client that may connect to the host of this address even if it is not public: the
/// owner configured it, and an own server is usually in the local network.
pub(crate) fn client_for(client: &HttpClient, url: &str) -> HttpClient {
    target_of(url).map_or_else(|| client.clone(), |entry| client.with_opened(entry))
}

/// Returns the allow-list entry of an address: its host and port.
fn target_of(url: &str) -> Option<AllowEntry> {
    let url = Url::parse(url).ok()?;
    format!("{}:{}", url.host_str()?, url.port_or_known_default()?).parse().ok()
}
