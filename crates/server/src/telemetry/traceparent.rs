//! The header `traceparent` of a request (W3C Trace Context 3.2).
#![deny(clippy::indexing_slicing)]

use super::span::SpanContext;

/// Parses the span context of the client; returns `None` if the header is not valid, and the
/// request then starts a trace.
pub(super) fn parse(header: &str) -> Option<SpanContext> {
    let mut parts = header.trim().split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let version = hex(version, 2)?;
    // Later versions may have more fields after the flags; version 0 may not, and 255 is invalid.
    if version == 0xff || (version == 0 && parts.next().is_some()) {
        return None;
    }
    let (trace, span, flags) = (hex(trace, 32)?, hex(span, 16)?, hex(flags, 2)?);
    let span = u64::try_from(span).ok()?;
    (trace != 0 && span != 0).then_some(SpanContext { trace, span, sampled: flags & 1 == 1 })
}

/// Parses exactly this many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn only_valid_headers_are_accepted() {
        let check = |header: &str, sampled: Option<bool>| {
            assert_eq!(parse(header).map(|context| context.sampled), sampled, "{header}");
        };
        check(GOOD, Some(true));
        check(&GOOD.replace("-01", "-00"), Some(false));
        check(&GOOD.replace("00-0a", "cc-0a"), Some(true));
        check(&format!("{}-more", GOOD.replace("00-0a", "01-0a")), Some(true));
        check(&format!("{GOOD}-more"), None);
        check(&GOOD.replace("00-0a", "ff-0a"), None);
        check(&GOOD.to_uppercase(), None);
        check("00-00000000000000000000000000000000-b7ad6b7169203331-01", None);
        check("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", None);
        check("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", None);
        check("", None);
        let context = parse(GOOD).unwrap();
        assert_eq!(context.trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(context.span, 0xb7ad_6b71_6920_3331);
    }

    proptest! {
        #[test]
        fn no_header_panics(header in ".{0,80}") {
            let _ = parse(&header);
        }

        #[test]
        fn every_span_context_can_be_parsed(trace in 1u128.., span in 1u64.., sampled: bool) {
            let header = format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(sampled));
            prop_assert_eq!(parse(&header), Some(SpanContext { trace, span, sampled }));
        }
    }
}
