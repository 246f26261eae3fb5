//! Parser for request heads of the proxy: a head is parsed completely or rejected.
#![deny(clippy::indexing_slicing)]

/// Maximum bytes of a head: request line and all fields.
pub(super) const LONGEST: usize = 32 * 1024;

/// Fields for the proxy, or for one connection only (RFC 9110 section 7.6.1), and `Host`, which is
/// rebuilt.
const HOP_BY_HOP_HEADERS: [&str; 11] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A parsed request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequest<'a> {
    /// A CONNECT request to this authority.
    Connect(&'a str),
    /// A plain HTTP request.
    Request { method: &'a str, url: &'a str, fields: Vec<(&'a str, &'a str)>, body: u64 },
}

/// Why a head is rejected: status and message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadRequest(pub(super) u16, pub(super) &'static str);

/// Returns the offset of the head's end; `None` if the head is incomplete.
pub(super) fn end_of(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Parses a head including its empty line.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest<'_>, BadRequest> {
    const MALFORMED: BadRequest = BadRequest(400, "The request cannot be read.");
    let text = std::str::from_utf8(head).map_err(|_| MALFORMED)?;
    let text = text.strip_suffix("\r\n\r\n").ok_or(MALFORMED)?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(MALFORMED);
    };
    if method.is_empty() || !method.bytes().all(is_token) || !version.starts_with("HTTP/1.") {
        return Err(MALFORMED);
    }
    let fields = lines.map(field).collect::<Option<Vec<_>>>().ok_or(MALFORMED)?;
    if method == "CONNECT" {
        return Ok(ProxyRequest::Connect(target));
    }
    if !target.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")) {
        return Err(BadRequest(400, "The proxy takes http:// addresses and CONNECT."));
    }
    let named =
        |name: &'static str| fields.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
    if named("transfer-encoding").next().is_some() {
        return Err(BadRequest(411, "The proxy needs the length of a body before it."));
    }
    let mut lengths = named("content-length").map(|(_, value)| value.parse::<u64>());
    let body = match (lengths.next(), lengths.next()) {
        (None, _) => 0,
        (Some(Ok(length)), None) => length,
        _ => return Err(MALFORMED),
    };
    let passed = |(name, _): &(&str, &str)| {
        !HOP_BY_HOP_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name))
    };
    let fields = fields.into_iter().filter(passed).collect();
    Ok(ProxyRequest::Request { method, url: target, fields, body })
}

fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let fine = !name.is_empty() && name.bytes().all(is_token);
    let value = value.trim_matches([' ', '\t']);
    (fine && !value.contains(|c: char| c.is_control() && c != '\t')).then_some((name, value))
}

/// Returns whether a byte is a token character (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_are_read_or_refused() {
        fn status(head: &str) -> Result<ProxyRequest<'_>, u16> {
            parse(head.as_bytes()).map_err(|bad| bad.0)
        }
        assert_eq!(
            status("CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
            Ok(ProxyRequest::Connect("example.com:443"))
        );
        assert_eq!(
            status(
                "POST http://a.example/x HTTP/1.1\r\nHost: other\r\nA: b \r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n"
            ),
            Ok(ProxyRequest::Request {
                method: "POST",
                url: "http://a.example/x",
                fields: vec![("A", "b"), ("Content-Length", "3")],
                body: 3
            })
        );
        for (head, refused) in [
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET https://a.example/ HTTP/1.1\r\n\r\n", 400),
            ("GET  http://a.example/ HTTP/1.1\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/2\r\n\r\n", 400),
            ("GET http://a.example/\r\n\r\n", 400),
            ("G\u{7f}T http://a.example/ HTTP/1.1\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/1.1\r\n folded: x\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/1.1\r\nno colon\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/1.1\r\na : b\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/1.1\r\na: b\nc: d\r\n\r\n", 400),
            (
                "GET http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                400,
            ),
            ("GET http://a.example/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("GET http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("\r\n\r\n", 400),
            ("", 400),
        ] {
            assert_eq!(status(head), Err(refused), "{head:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let end = end_of(&bytes);
            prop_assert!(end.is_none_or(|end| end <= bytes.len()));
            if let Ok(ProxyRequest::Request { fields, .. }) = parse(&bytes) {
                prop_assert!(fields.iter().all(|(name, _)| !HOP_BY_HOP_HEADERS.contains(&name.to_ascii_lowercase().as_str())));
            }
        }
    }
}
