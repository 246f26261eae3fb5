//! Masking: secrets in every documented form, in complete and in split texts.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::known_secrets::SHORTEST;
use super::*;

fn secrets(values: &[&str]) -> Secrets {
    let secrets = Secrets::default();
    secrets.add(values.iter().copied());
    secrets
}

fn known() -> Secrets {
    secrets(&["s3cr3t-value", "s3cr3t-value-2", "short"])
}

#[test]
fn texts_and_data_are_masked() {
    assert_eq!(known().mask("a s3cr3t-value-2 b short".into()), "a *** b short");
    let data = json!({"s3cr3t-value": ["x\"s3cr3t-value\\", 1]});
    assert_eq!(known().mask_json(&data), json!({"***": ["x\"***\\", 1]}));
    assert!(known().occurs_in_json(&data) && !known().occurs_in_json(&json!(["s3cr3t", 1, null])));
    assert_eq!(Secrets::default().mask("s3cr3t-value".into()), "s3cr3t-value");
    let digits = secrets(&["1234567890"]);
    assert_eq!(digits.mask_json(&json!([1_234_567_890, 12])), json!(["***", 12]));
    assert!(digits.occurs_in_json(&json!({"n": 1_234_567_890})));
}

#[test]
fn a_stream_is_masked_however_it_is_cut() {
    let whole = b"key=s3cr3t-value; again s3cr3t-value-2 and s3cr3t-val";
    for cut in 0..whole.len() {
        let mut mask = known().stream();
        let mut out = mask.pass(&whole[..cut]);
        out.extend(mask.pass(&whole[cut..]));
        out.extend(mask.finish());
        assert_eq!(out, b"key=***; again *** and s3cr3t-val", "cut at {cut}");
    }
}

#[test]
fn a_text_that_comes_in_pieces_is_shown_in_whole_characters() {
    let secrets = secrets(&["sécrét-välue"]);
    let whole = "äöü €😀 sécrét-välue; äöü😀";
    let mut mask = TextMask::new(&secrets);
    let mut out: String = whole.chars().map(|c| mask.pass(&c.to_string())).collect();
    out += &mask.finish();
    assert_eq!(out, "äöü €😀 ***; äöü😀");
    assert_eq!(mask.pass("another one") + &mask.finish(), "another one");
}

#[test]
fn overlapping_secrets_leave_nothing_of_each_other() {
    let both = secrets(&["abcdefgh", "efghijkl"]);
    assert_eq!(both.mask("<abcdefghijkl>".into()), "<***>");
    assert_eq!(both.mask("abcdefghabcdefgh".into()), "******");
    for cut in 0..14 {
        let (mut mask, text) = (both.stream(), b"<abcdefghijkl>");
        let mut out = mask.pass(&text[..cut]);
        out.extend(mask.pass(&text[cut..]));
        out.extend(mask.finish());
        assert_eq!(out, b"<***>", "cut at {cut}");
    }
}

#[test]
fn secrets_are_learned_and_never_forgotten() {
    let secrets = Secrets::default();
    assert!(secrets.is_empty());
    secrets.add(["seven77", "       x       "]);
    assert!(secrets.is_empty(), "too short to be masked");
    let before = secrets.stream();
    secrets.clone().add(["first-secret"]);
    secrets.add(["second-secret"]);
    assert_eq!(secrets.mask("first-secret second-secret".into()), "*** ***");
    assert!(before.known.is_none() && !format!("{secrets:?}").contains("first"));
}

#[test]
fn a_key_of_several_lines_is_masked_line_by_line() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----";
    let secrets = secrets(&[key]);
    assert_eq!(secrets.mask(format!("<{key}>")), "<***>");
    assert_eq!(secrets.mask("2: MIIEvQIBADANBgkq".into()), "2: ***");
    assert_eq!(secrets.mask("-----BEGIN KEY-----".into()), "-----BEGIN KEY-----");
}

#[test]
fn a_long_secret_that_was_cut_is_masked_up_to_its_last_part() {
    let long: String = (0..500).map(|n| format!("{n}x")).collect();
    let secrets = secrets(&[&long]);
    let masked = secrets.mask(long[..long.len() / 2].to_owned());
    assert!(masked.trim_matches('*').len() < 32, "{masked}");
    let wrapped = STANDARD.encode(&long).into_bytes();
    let wrapped: Vec<_> = wrapped.chunks(76).map(String::from_utf8_lossy).collect();
    let masked = secrets.mask(wrapped[..wrapped.len() - 1].join("\n"));
    assert_eq!(masked.replace("***\n", ""), "***");
}

#[test]
fn what_a_person_left_masked_means_what_stood_there() {
    let real = json!({"to": "a", "key": "k s3cr3t-value", "list": ["s3cr3t-value", 1]});
    let shown = known().mask_json(&real);
    let check = |written: Value, expected: Value| {
        assert_eq!(restore(&written, &shown, &real), expected);
    };
    check(shown.clone(), real.clone());
    check(
        json!({"to": "b", "key": "k ***", "list": ["***", 2, "***"]}),
        json!({"to": "b", "key": "k s3cr3t-value", "list": ["s3cr3t-value", 2, "***"]}),
    );
    check(json!({"key": "***", "new": "k ***"}), json!({"key": "***", "new": "k ***"}));
    check(json!("***"), json!("***"));
}

/// Returns the documented forms, each written by an external library.
fn promised(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let json = serde_json::to_string(secret).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    let form: String = url::form_urlencoded::byte_serialize(bytes).collect();
    let mut url = url::Url::parse("http://h/").unwrap();
    url.query_pairs_mut().append_pair("q", secret);
    vec![
        secret.to_owned(),
        STANDARD.encode(bytes),
        STANDARD_NO_PAD.encode(bytes),
        URL_SAFE.encode(bytes),
        URL_SAFE_NO_PAD.encode(bytes),
        hex.to_uppercase(),
        hex,
        json[1..json.len() - 1].to_owned(),
        twice[3..twice.len() - 3].to_owned(),
        form,
        url.query().unwrap()[2..].to_owned(),
        {
            let debug = format!("{secret:?}");
            debug[1..debug.len() - 1].to_owned()
        },
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[!-~]{8,40}", "[ -~äöü€😀\\n\"\\\\/]{8,24}", "[A-Za-z0-9+/]{64,200}"]
        .prop_filter("long enough", |value| {
            value.trim().len() >= SHORTEST && !value.contains("***")
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_form_of_a_secret_is_left_and_a_stream_is_masked_as_a_whole(
        value in value(),
        around in "[ -~]{0,12}",
        cuts in proptest::collection::vec(0..4000_usize, 0..6),
    ) {
        let secrets = secrets(&[&value]);
        for form in promised(&value) {
            let text = format!("{around}{form}{around}");
            let masked = secrets.mask(text.clone());
            prop_assert!(masked.contains("***"), "{form:?} in {masked:?}");
            for other in promised(&value) {
                prop_assert!(!masked.contains(&other), "{other:?} in {masked:?}");
            }
            let (mut stream, mut out, mut from) = (secrets.stream(), Vec::new(), 0);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.sort_unstable();
            for cut in cuts.into_iter().chain([text.len()]) {
                out.extend(stream.pass(&text.as_bytes()[from..cut]));
                from = cut;
            }
            out.extend(stream.finish());
            prop_assert_eq!(String::from_utf8(out).unwrap(), masked);
        }
    }

    #[test]
    fn base64_of_a_text_around_a_secret_holds_nothing_of_it(
        value in "[!-~]{9,40}", before in "[a-z]{0,5}", after in "[a-z]{0,5}",
    ) {
        let masked = secrets(&[&value]).mask(STANDARD.encode(format!("{before}{value}{after}")));
        prop_assert!(masked.contains("***"));
        // One character on each side also depends on the neighbours.
        let around = STANDARD.encode(&before).len() + STANDARD.encode(&after).len() + 6;
        prop_assert!(masked.len() <= around + 3, "{masked}");
    }
}
