//! SSRF bypass corpus: every trick is denied by the expected rule, and legitimate URLs pass.

use std::net::IpAddr;

use proptest::prelude::*;

use crate::{
    AddressClass, AddressPolicy, Host, StaticResolver, Verdict, check, check_url, classify,
};

/// A resolver in which legitimate names are public and hostile ones are not.
fn dns() -> StaticResolver {
    StaticResolver::parse([
        "example.com=93.184.215.14,2606:2800:21f::1",
        "example.org=93.184.215.15",
        "xn--bcher-kva.example.com=93.184.215.14",
        "inward.example.com=10.0.0.7",
        "mixed.example.com=93.184.215.14,127.0.0.1",
        "mapped.example.com=::ffff:169.254.169.254",
        "nat64.example.com=64:ff9b::a9fe:a9fe",
        "evil.example.com=93.184.215.14",
    ])
    .expect("table")
}

async fn refused(raw: &str, rule: &str) {
    let check = check(raw, &dns(), &AddressPolicy::default()).await;
    assert_eq!((check.verdict, check.rule), (Verdict::Deny, rule), "{raw:?}");
}

#[tokio::test]
async fn loopback_in_every_spelling() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0X7F.1",
        "0x7f.0x00000001",
        "017700000001",
        "0177.0.0.1",
        "0177.0.0x1",
        "00000177.0.0.01",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "１２７.０.０.１",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "127．0．0．1",
        "127｡0｡0｡1",
        "127.0.0.\u{ad}1",
        "1\u{200b}27.0.0.1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::0001]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::FFFF:7F00:0001]",
    ] {
        refused(&format!("http://{host}/"), "address.loopback").await;
        refused(&format!("https://{host}:8443/a?b"), "address.loopback").await;
    }
}

#[tokio::test]
async fn unspecified_private_and_link_local() {
    let rows = [
        ("0", "address.unspecified"),
        ("0.0.0.0", "address.unspecified"),
        ("0x0", "address.unspecified"),
        ("00", "address.unspecified"),
        ("[::]", "address.unspecified"),
        ("[::ffff:0:0]", "address.unspecified"),
        ("0.1", "address.this_network"),
        ("10.0.0.1", "address.private"),
        ("167772161", "address.private"),
        ("10.1", "address.private"),
        ("172.16.0.1", "address.private"),
        ("172.31.255.255", "address.private"),
        ("192.168.1", "address.private"),
        ("0xc0a80001", "address.private"),
        ("[::ffff:192.168.0.1]", "address.private"),
        ("169.254.0.1", "address.link_local"),
        ("[fe80::1]", "address.link_local"),
        ("[febf::1]", "address.link_local"),
        ("[fec0::1]", "address.site_local"),
        ("[fc00::1]", "address.unique_local"),
        ("[fdff:ffff::1]", "address.unique_local"),
        ("100.64.0.1", "address.cgnat"),
        ("100.127.255.255", "address.cgnat"),
        ("198.18.0.1", "address.benchmarking"),
        ("192.0.0.8", "address.reserved"),
        ("224.0.0.1", "address.multicast"),
        ("[ff02::1]", "address.multicast"),
        ("240.0.0.1", "address.reserved"),
        ("255.255.255.255", "address.broadcast"),
        ("4294967295", "address.broadcast"),
    ];
    for (host, rule) in rows {
        refused(&format!("http://{host}/"), rule).await;
    }
}

#[tokio::test]
async fn addresses_inside_addresses() {
    let rows = [
        ("[::127.0.0.1]", "address.v4_compatible"),
        ("[::a9fe:a9fe]", "address.v4_compatible"),
        ("[::ffff:0:127.0.0.1]", "address.siit"),
        ("[::ffff:0:a9fe:a9fe]", "address.siit"),
        ("[64:ff9b::127.0.0.1]", "address.nat64"),
        ("[64:ff9b::a9fe:a9fe]", "address.nat64"),
        ("[64:ff9b:1::a9fe:a9fe]", "address.nat64"),
        ("[2002:7f00:1::]", "address.6to4"),
        ("[2002:a9fe:a9fe::1]", "address.6to4"),
        ("[2001::1]", "address.teredo"),
        ("[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "address.teredo"),
        ("[2001:db8::1]", "address.documentation"),
        ("[3fff::1]", "address.documentation"),
        ("[5f00::1]", "address.not_global_v6"),
        ("[4000::1]", "address.not_global_v6"),
    ];
    for (host, rule) in rows {
        refused(&format!("http://{host}/"), rule).await;
    }
}

#[tokio::test]
async fn metadata_services() {
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "0xA9.0xFE.0xA9.0xFE",
        "169.254.43518",
        "169.16689662",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "169.254.170.2",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
    ] {
        refused(&format!("http://{host}/latest/meta-data/"), "address.metadata").await;
    }
    for host in
        ["metadata.google.internal", "METADATA.google.internal.", "metadata.goog", "x.internal"]
    {
        refused(&format!("http://{host}/"), "host.special_use").await;
    }
    for host in ["metadata", "instance-data"] {
        refused(&format!("http://{host}/"), "host.single_label").await;
    }
}

#[tokio::test]
async fn local_names_and_wildcard_dns() {
    for host in [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "ｌｏｃａｌｈｏｓｔ",
        "loc\u{ad}alhost",
        "%6c%6f%63%61%6c%68%6f%73%74",
        "ⓛocalhost",
        "localhost.localdomain",
        "printer.local",
        "nas.lan",
        "router.home.arpa",
        "abc.onion",
        "x.test",
        "x.invalid",
        "host.docker.internal",
        "kubernetes.default.svc.cluster.local",
    ] {
        refused(&format!("http://{host}/"), "host.special_use").await;
    }
    for host in ["intranet-server", "nas", "ip6-localhost", "host1"] {
        refused(&format!("http://{host}/"), "host.single_label").await;
    }
    for host in [
        "127.0.0.1.nip.io",
        "7f000001.nip.io",
        "169-254-169-254.sslip.io",
        "localtest.me",
        "a.lvh.me",
        "7f000001.c0a80001.rbndr.us",
    ] {
        refused(&format!("http://{host}/"), "host.rebinding").await;
    }
}

#[tokio::test]
async fn names_that_point_inward() {
    refused("http://inward.example.com/", "address.private").await;
    refused("http://mixed.example.com/", "address.loopback").await;
    refused("http://mapped.example.com/", "address.metadata").await;
    refused("http://nat64.example.com/", "address.nat64").await;
    refused("http://unknown.example.com/", "dns.unresolvable").await;
}

#[tokio::test]
async fn confusing_syntax() {
    for raw in [
        "http://example.com@127.0.0.1/",
        "http://127.0.0.1@example.com/",
        "http://user:pass@example.com/",
        "http://@example.com/",
        "http://:@example.com/",
        "http://example.com:80@evil.example.com/",
        "https://example.com:443@127.0.0.1:80/",
    ] {
        refused(raw, "url.userinfo").await;
    }
    for raw in [
        r"http://example.com\@127.0.0.1/",
        r"http:\\127.0.0.1\",
        r"http:/\127.0.0.1/",
        r"http://127.0.0.1\.example.com/",
        "http:///127.0.0.1/",
        "http:////example.com/",
        "http:/127.0.0.1/",
        "http:127.0.0.1",
        "https:example.com",
        " http://example.com/",
        "\thttp://example.com/",
        "\u{a0}http://example.com/",
        "\u{0}http://example.com/",
        "http://example.com/ ",
        "ht\ntp://127.0.0.1/",
        "http://127.0.\t0.1/",
        "http://127.0.\r\n0.1/",
        "http://example.com\u{0}.evil.example.com/",
        "http://example.com%00.evil.example.com/",
        "http://example.com%0a/",
        "http://example.com/\r\nHost: internal",
        "http://",
        "http://?x",
        "http://#x",
        "http://:80/",
        "http://./",
        "http://../",
        "http://example..com/",
        "http://.example.com/",
        "http://example.com../",
        "http://example.com:99999/",
        "http://example.com:8o/",
        "http://exa mple.com/",
        "http://exa*mple.com/",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1%25]/",
        "http://[v1.x]/",
        "http://[127.0.0.1]/",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://example.0x7f/",
        "http://127.0.0.1%2f@example.com%2f/",
        "http://xn--/",
    ] {
        let check = check(raw, &dns(), &AddressPolicy::default()).await;
        let rule = check.rule;
        assert_eq!(check.verdict, Verdict::Deny, "{raw:?}");
        assert!(["url.malformed", "url.userinfo"].contains(&rule), "{raw:?}: {rule}");
    }
    // Fragment, query and path contain no host.
    refused("http://127.0.0.1#@example.com/", "address.loopback").await;
    refused("http://127.0.0.1?@example.com/", "address.loopback").await;
    refused("http://127.0.0.1/@example.com/", "address.loopback").await;
}

#[tokio::test]
async fn other_schemes() {
    for raw in [
        "",
        "example.com",
        "//example.com/",
        "/etc/passwd",
        "file:///etc/passwd",
        "FILE://localhost/etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1:6379/_INFO",
        "dict://127.0.0.1:11211/stat",
        "ldap://127.0.0.1/",
        "jar:http://127.0.0.1!/",
        "unix:/var/run/docker.sock",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "ws://example.com/",
        "blob:http://example.com/x",
        "view-source:http://127.0.0.1/",
        "httpſ://example.com/",
        "h\u{200b}ttp://example.com/",
        "\u{feff}http://example.com/",
    ] {
        refused(raw, "url.scheme").await;
    }
}

#[tokio::test]
async fn ports_of_other_protocols() {
    for port in [0, 1, 22, 23, 25, 110, 143, 587, 2049, 6000, 6667, 10080] {
        refused(&format!("http://example.com:{port}/"), "url.port").await;
    }
}

#[tokio::test]
async fn honest_urls_pass_to_their_own_host() {
    let rows = [
        ("https://example.com", "93.184.215.14"),
        ("HTTP://EXAMPLE.COM:80/a/b?c=d&e#f", "93.184.215.14"),
        ("https://example.com./", "93.184.215.14"),
        ("https://exam\u{ad}ple.com/", "93.184.215.14"),
        ("https://example.org:8443/?u=http://127.0.0.1/", "93.184.215.15"),
        ("http://example.org/#@127.0.0.1/", "93.184.215.15"),
        ("http://example.org?@127.0.0.1/", "93.184.215.15"),
        ("http://example.org/@127.0.0.1/", "93.184.215.15"),
        ("http://bücher.example.com/%F0%9F%93%9A", "93.184.215.14"),
        ("http://1.1.1.1/", "1.1.1.1"),
        ("http://0x08080808/", "8.8.8.8"),
        ("http://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
        ("http://[::ffff:8.8.8.8]/", "8.8.8.8"),
        ("http://172.32.0.1/", "172.32.0.1"),
        ("http://192.0.1.1/", "192.0.1.1"),
    ];
    for (raw, address) in rows {
        let check = check(raw, &dns(), &AddressPolicy::default()).await;
        let expected = (Verdict::Allow, "public", Some(address.parse().expect(address)));
        assert_eq!((check.verdict, check.rule, check.address), expected, "{raw:?}");
    }
}

/// URL-like texts: arbitrary ones, and fragments that parsers interpret differently.
fn url_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "http://",
        "https://",
        "HTTP:",
        "//",
        "/",
        "\\",
        "@",
        ":",
        "#",
        "?",
        "%",
        "[",
        "]",
        "::",
        ".",
        "127",
        "0x7f",
        "1",
        "0",
        "ffff",
        "64:ff9b::",
        "a9fe:a9fe",
        "169.254.169.254",
        "localhost",
        "example.com",
        "１",
        "。",
        "\u{ad}",
        "%00",
        "\t",
        " ",
        ":80",
        ":22",
        "xn--",
        "ü",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(piece.clone(), 0..10).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(piece, 0..8)
            .prop_map(|pieces| format!("http://{}/", pieces.concat())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The check is total on every text, and every URL that passes is public, a DNS name, and
    /// stable when parsed again.
    #[test]
    fn whatever_passes_is_safe(raw in url_like()) {
        let policy = AddressPolicy::default();
        if let Ok(target) = check_url(&raw, &policy) {
            match target.host() {
                Host::Addr(ip) => prop_assert_eq!(classify(*ip), AddressClass::Public),
                Host::Name(name) => prop_assert!(name.contains('.') && name.parse::<IpAddr>().is_err()),
            }
            let again = check_url(target.url().as_str(), &policy);
            prop_assert_eq!(again.as_ref(), Ok(&target));
        }
    }

    /// The verdict on a literal equals the verdict on the address that would be connected to, in
    /// every spelling.
    #[test]
    fn spelling_changes_nothing(bits in any::<u32>(), from in prop::sample::select(vec![0u32, 0x0a00_0000, 0x7f00_0000, 0xa9fe_a900, 0xc0a8_0000, 0x6440_0000, 0xe000_0000])) {
        for bits in [bits, from | (bits & 0xff)] {
            let ip = IpAddr::V4(bits.into());
            let [a, b, c, d] = bits.to_be_bytes();
            let spellings = [
                format!("{ip}"),
                format!("{bits}"),
                format!("{bits:#x}"),
                format!("0{bits:o}"),
                format!("{a:#x}.{b:#x}.{c:#x}.0{d:o}"),
                format!("{a}.{}", bits & 0x00ff_ffff),
                format!("[::ffff:{ip}]"),
            ];
            for host in spellings {
                let found = check_url(&format!("http://{host}/"), &AddressPolicy::default());
                match classify(ip) {
                    AddressClass::Public => prop_assert_eq!(found.map(|target| target.host().clone()), Ok(Host::Addr(ip))),
                    AddressClass::Refused(rule) => prop_assert_eq!(found.expect_err(&host).rule, rule),
                }
            }
        }
    }

    /// An IPv6 literal that passes is the address as written, and is public.
    #[test]
    fn v6_literals_are_judged_as_written(bits in any::<u128>(), head in prop::sample::select(vec![0u128, 0x2001, 0x2002, 0x64, 0xfe80, 0xfd00, 0x2606])) {
        let ip = IpAddr::V6(((bits >> 16) | (head << 112)).into());
        let found = check_url(&format!("http://[{ip}]/"), &AddressPolicy::default());
        match classify(ip) {
            AddressClass::Public => prop_assert_eq!(found.map(|target| target.host().clone()), Ok(Host::Addr(ip.to_canonical()))),
            AddressClass::Refused(rule) => prop_assert_eq!(found.expect_err("refused").rule, rule),
        }
    }
}
