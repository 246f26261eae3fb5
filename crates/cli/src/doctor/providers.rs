//! Providers: whether one is configured, and whether the configured ones respond.

use std::time::Duration;

use toolcrib_net::{AddressPolicy, Follow, HttpClient, Limits, Request};
use toolcrib_providers::http_provider::ProviderKind;

use super::Finding;
use crate::config::Config;

const NAME: &str = "providers";
/// Timeout that a person would accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn check(config: &Config, online: bool) -> Vec<Finding> {
    if config.providers.is_empty() && config.model.default.is_none() {
        return vec![
            Finding::ok(NAME, "no provider is configured; keys in the environment work too")
                .with_fix("docs/providers.md explains how"),
        ];
    }
    let mut found =
        vec![Finding::ok(NAME, format!("{} providers are configured", config.providers.len()))];
    if !online {
        return found;
    }
    for (id, section) in &config.providers {
        let kind = section.kind.or_else(|| id.0.parse::<ProviderKind>().ok());
        let url = section.base_url.clone().or_else(|| Some(kind?.default_base_url()?.to_owned()));
        found.push(match url {
            Some(url) => check_reachable(&id.0, &url).await,
            None => {
                Finding::warn(NAME, format!("{}: not tested, because it has no base_url", id.0))
            }
        });
    }
    found
}

/// Checks whether the address responds; no key is sent.
async fn check_reachable(id: &str, url: &str) -> Finding {
    let shown = url.split('@').next_back().unwrap_or_default();
    let policy = authority(url).and_then(|target| AddressPolicy::with_allowed([target]).ok());
    let Some(policy) = policy else {
        return Finding::fail(NAME, format!("{id}: {shown} is not a URL"));
    };
    let request = Request { follow: Follow::Never, ..Request::get(url) };
    let limits = Limits { total: CONNECT_TIMEOUT, ..Limits::default() };
    match HttpClient::new(policy).fetch(&request, &limits).await {
        Ok(response) => {
            Finding::ok(NAME, format!("{id}: {shown} answers (HTTP {})", response.head.status))
        }
        Err(error) => Finding::fail(NAME, format!("{id}: {shown} does not answer: {error}"))
            .with_fix("check the network, `base_url`, and whether the server is running"),
    }
}

/// Returns host and port of a URL.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let has_port = authority.rsplit(']').next()?.contains(':');
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    Some(if has_port { authority.to_owned() } else { format!("{authority}:{port}") })
}
