//! The request that no limit may delay: the one that stops every tool.

use axum::extract::Request;
use axum::http::Method;

use crate::api::BASE;

/// Path of the kill switch, below the base.
const KILL_SWITCH: &str = "/kill-switch";

/// Returns whether this request engages the kill switch (`PUT`): the limits of a client that sends
/// too many requests must not keep its owner from stopping it.
pub(crate) fn is_exempt(request: &Request) -> bool {
    let path = request.uri().path().strip_prefix(BASE);
    request.method() == Method::PUT && path == Some(KILL_SWITCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_engaging_the_kill_switch_is_exempt() {
        let urgent = |one: &&crate::Operation| one.path == KILL_SWITCH && one.method == Method::PUT;
        let operations = crate::operations();
        let full = operations.iter().find(urgent).unwrap().full_path();
        let request = |method, path: &str| {
            Request::builder().method(method).uri(path).body(axum::body::Body::empty()).unwrap()
        };
        assert!(is_exempt(&request(Method::PUT, &full)));
        assert!(!is_exempt(&request(Method::GET, &full)));
        assert!(!is_exempt(&request(Method::PUT, KILL_SWITCH)));
    }
}
