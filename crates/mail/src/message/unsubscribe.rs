//! One-click unsubscription (RFC 8058), as far as the headers of a mail prove it.
//!
//! A sender can be forged, and a request to an address of a forger's choice tells the forger that
//! the mail was read. So the headers have to be covered by a DKIM signature (RFC 8058, 4) that the
//! receiving server found valid. It says so in the topmost `Authentication-Results` (RFC 8601);
//! those below it can come from the sender.

use toolcrib_net::Bytes;
use url::Url;

/// Bytes of headers that are looked at.
const MAX_HEADERS: usize = 256 << 10;
/// The headers that are needed, as IMAP names them.
pub(crate) const HEADERS: &str =
    "LIST-UNSUBSCRIBE LIST-UNSUBSCRIBE-POST DKIM-SIGNATURE AUTHENTICATION-RESULTS";
/// What is posted.
pub(crate) const BODY: Bytes = Bytes::from_static(b"List-Unsubscribe=One-Click");

/// The address that unsubscribes.
///
/// # Errors
/// What is missing, for a model.
pub(crate) fn one_click(message: &[u8]) -> Result<Url, &'static str> {
    let headers = headers(message);
    let all = |name: &'static str| {
        headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    let post = all("list-unsubscribe-post")
        .any(|value| value.trim().eq_ignore_ascii_case("List-Unsubscribe=One-Click"));
    if !post {
        return Err("it has no header List-Unsubscribe-Post");
    }
    let mut lists = all("list-unsubscribe");
    let (Some(list), None) = (lists.next(), lists.next()) else {
        return Err("it does not have exactly one header List-Unsubscribe");
    };
    let address = list.split('<').skip(1).filter_map(|part| part.split('>').next());
    let address = address.filter_map(|text| Url::parse(text.trim()).ok());
    let is_usable = |url: &Url| {
        url.scheme() == "https" && url.username().is_empty() && url.password().is_none()
    };
    let url =
        address.into_iter().find(is_usable).ok_or("its List-Unsubscribe has no https address")?;
    let signers: Vec<String> = all("dkim-signature").filter_map(signer_of_both).collect();
    if signers.is_empty() {
        return Err("no DKIM signature covers these headers");
    }
    let results = all("authentication-results").next().unwrap_or_default().to_lowercase();
    let is_valid = |signer: &String| results.split(';').any(|part| passes(part, signer));
    if !signers.iter().any(is_valid) {
        return Err("the mail server does not say that this signature is valid");
    }
    Ok(url)
}

/// The domain of a signature that covers both headers.
fn signer_of_both(signature: &str) -> Option<String> {
    let tags: Vec<(String, String)> = signature
        .split(';')
        .filter_map(|tag| tag.split_once('='))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_lowercase()))
        .collect();
    let tag = |name: &str| tags.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let covered: Vec<&str> = tag("h")?.split(':').map(str::trim).collect();
    let covers = ["list-unsubscribe", "list-unsubscribe-post"];
    covers.iter().all(|name| covered.contains(name)).then(|| tag("d").cloned()).flatten()
}

/// Whether a result says that the signature of this domain is valid.
fn passes(result: &str, signer: &str) -> bool {
    let words: Vec<&str> = result.split_whitespace().collect();
    let domain = format!("header.d={signer}");
    let identity = format!("@{signer}");
    words.first() == Some(&"dkim=pass")
        && words.iter().any(|word| {
            *word == domain
                || word.strip_prefix("header.i=").is_some_and(|id| id.ends_with(&identity))
        })
}

/// Names in small letters, and values on one line.
fn headers(message: &[u8]) -> Vec<(String, String)> {
    let head = message.get(..message.len().min(MAX_HEADERS)).unwrap_or_default();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in String::from_utf8_lossy(head).split('\n') {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            break;
        }
        match (line.starts_with([' ', '\t']), found.last_mut(), line.split_once(':')) {
            (true, Some((_, value)), _) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (false, _, Some((name, value))) => {
                found.push((name.trim().to_lowercase(), value.trim().to_owned()));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: &str = "DKIM-Signature: v=1; a=rsa-sha256; d=Shop.example;\r\n s=k; h=From:Subject:List-Unsubscribe:\r\n\tList-Unsubscribe-Post; b=abc\r\n";
    const RESULTS: &str = "Authentication-Results: mx.example.org;\r\n dkim=pass header.d=shop.example header.s=k; spf=pass\r\n";
    const LIST: &str = "List-Unsubscribe: <mailto:out@shop.example>,\r\n <https://shop.example/out?u=1>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n";

    fn check(parts: &[&str], expected: Result<&str, &str>) {
        let message = format!("{}\r\nText", parts.concat());
        let found = one_click(message.as_bytes());
        match expected {
            Ok(url) => assert_eq!(found.as_ref().map(Url::as_str), Ok(url), "{message}"),
            Err(part) => assert!(found.clone().is_err_and(|e| e.contains(part)), "{found:?}"),
        }
    }

    #[test]
    fn only_signed_headers_that_the_server_has_checked_count() {
        check(&[RESULTS, SIGNATURE, LIST], Ok("https://shop.example/out?u=1"));
        check(&[SIGNATURE, LIST], Err("does not say"));
        check(&[RESULTS, LIST], Err("no DKIM signature"));
        check(&[RESULTS, SIGNATURE], Err("List-Unsubscribe-Post"));
        // A result of the sender is below that of the server.
        let failed = "Authentication-Results: mx.example.org; dkim=fail header.d=shop.example\r\n";
        check(&[failed, RESULTS, SIGNATURE, LIST], Err("does not say"));
        let partly = SIGNATURE.replace("List-Unsubscribe-Post", "Date");
        check(&[RESULTS, &partly, LIST], Err("no DKIM signature"));
        let other = RESULTS.replace("shop.example", "shop.example.evil");
        check(&[&other, SIGNATURE, LIST], Err("does not say"));
        let twice = format!("List-Unsubscribe: <https://evil.example/>\r\n{LIST}");
        check(&[RESULTS, SIGNATURE, &twice], Err("exactly one"));
        check(&[RESULTS, SIGNATURE, &LIST.replace("https:", "http:")], Err("no https address"));
        check(
            &[RESULTS, SIGNATURE, &LIST.replace("https://", "https://a:b@")],
            Err("no https address"),
        );
    }
}
