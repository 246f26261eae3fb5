//! `toolcrib net check`: the address policy, without a network.

use serde_json::{Value, json};

use crate::support::{self, TestEnv, feed};

/// Names that a check may resolve; some are public, and some lead to private networks.
const DNS: &[&str] = &[
    "--resolve",
    "example.com=93.184.215.14",
    "--resolve",
    "inward.example.com=10.0.0.7",
    "--resolve",
    "mixed.example.com=93.184.215.14,127.0.0.1",
    "--resolve",
    "mapped.example.com=::ffff:169.254.169.254",
];

/// Ways around an address policy, and the rule that blocks each.
const REFUSED: &[(&str, &str)] = &[
    ("http://127.0.0.1/", "address.loopback"),
    ("http://127.1/", "address.loopback"),
    ("http://2130706433/", "address.loopback"),
    ("http://0x7f000001/", "address.loopback"),
    ("http://0177.0.0.1/", "address.loopback"),
    ("http://127%2e0%2e0%2e1/", "address.loopback"),
    ("http://①②⑦.⓪.⓪.①/", "address.loopback"),
    ("http://127。0。0。1/", "address.loopback"),
    ("https://[::1]:8443/", "address.loopback"),
    ("http://[::ffff:127.0.0.1]/", "address.loopback"),
    ("http://0/", "address.unspecified"),
    ("http://[::]/", "address.unspecified"),
    ("http://10.1/", "address.private"),
    ("http://0xc0a80001/", "address.private"),
    ("http://169.254.169.254/latest/meta-data/", "address.metadata"),
    ("http://2852039166/", "address.metadata"),
    ("http://[::ffff:a9fe:a9fe]/", "address.metadata"),
    ("http://100.64.0.1/", "address.cgnat"),
    ("http://[64:ff9b::a9fe:a9fe]/", "address.nat64"),
    ("http://[2002:7f00:1::]/", "address.6to4"),
    ("http://[fe80::1]/", "address.link_local"),
    ("http://[fc00::1]/", "address.unique_local"),
    ("http://localhost./", "host.special_use"),
    ("http://metadata.google.internal/", "host.special_use"),
    ("http://7f000001.nip.io/", "host.rebinding"),
    ("http://nas/", "host.single_label"),
    ("http://user:pass@example.com/", "url.userinfo"),
    ("file:///etc/passwd", "url.scheme"),
    ("gopher://example.com/", "url.scheme"),
    ("http://inward.example.com/", "address.private"),
    ("http://mixed.example.com/", "address.loopback"),
    ("http://mapped.example.com/", "address.metadata"),
    ("http://unknown.example.com/", "dns.unresolvable"),
];

#[test]
fn every_way_around_is_refused_by_its_rule() {
    let env = TestEnv::new();
    for (url, rule) in REFUSED {
        let ended = env.run(&[&["net", "check", url, "--json"], DNS].concat()).code(5);
        let reply = support::json(&ended.stdout);
        assert_eq!((&reply["verdict"], &reply["rule"]), (&json!("deny"), &json!(rule)), "{url}");
        assert_eq!(ended.stderr, "", "{url}");
    }
}

#[test]
fn people_get_a_sentence() {
    let env = TestEnv::new();
    let check = |url: &str, more: &[&str]| {
        let ended = env.run(&[&["net", "check", url], DNS, more].concat());
        (ended.stdout, ended.code)
    };
    assert_eq!(
        check("https://example.com/a?b", &[]),
        ("allow: 93.184.215.14 (public)\n".into(), 0)
    );
    let (text, code) = check("http://127.1/", &[]);
    assert_eq!(
        text,
        "deny: 127.0.0.1:80 refused by address.loopback: 127.0.0.1 is a loopback address\n"
    );
    assert_eq!(code, 5);
    let (text, _) = check("http://user:geheim@example.com/", &[]);
    assert!(text.contains("url.userinfo") && !text.contains("geheim"), "{text}");
}

#[test]
fn what_the_owner_opens() {
    let env = TestEnv::new();
    let check = |url: &str, open: &str| {
        env.run(&[&["net", "check", url, "--json", "--allow-net", open], DNS].concat()).code
    };
    assert_eq!(check("http://127.0.0.1:8080/", "127.0.0.1:8080"), 0);
    assert_eq!(check("http://127.0.0.1:8081/", "127.0.0.1:8080"), 5);
    assert_eq!(check("http://inward.example.com/", "10.0.0.0/24"), 0);
    assert_eq!(check("http://inward.example.com/", "10.0.0.0/30"), 5);
    let ended = env.run(&["net", "check", "http://x/", "--allow-net", "http://x"]).code(2);
    ended.says(&["without a scheme"]);
    let mut command = env.command(&["net", "check", "http://127.0.0.1:8080/"]);
    command.env("TOOLCRIB_ALLOW_NET", "10.0.0.0/8,127.0.0.1:8080");
    assert_eq!(support::end(command, b"").stdout, "allow: 127.0.0.1 (allow_list)\n");
}

#[test]
fn usage() {
    let env = TestEnv::new();
    env.run(&["net", "check"]).code(2).says(&["<URL>"]);
    env.run(&["net", "check", "http://x", "--resolve", "x"]).code(2).says(&["HOST=ADDR"]);
    env.run(&["net", "check", "http://x", "--resolve", "x=y"]).code(2).says(&["x=y"]);
    env.run(&["net", "check", "http://x", "--lines"]).code(2).says(&["--lines"]);
}

#[test]
fn lines_carry_their_own_names() {
    let env = TestEnv::new();
    let mut input: Vec<Value> = REFUSED
        .iter()
        .filter(|(url, _)| {
            !url.contains("example.com") || url.contains('@') || url.starts_with("gopher")
        })
        .enumerate()
        .map(|(id, (url, _))| json!({"id": id, "url": url}))
        .collect();
    input.push(json!({"id": "in", "url": "http://a.example/", "dns": {"a.example": ["10.0.0.1"]}}));
    input.push(
        json!({"id": "out", "url": "http://a.example/", "dns": {"a.example": ["93.184.215.14"]}}),
    );
    let ended = env.feed(&["net", "check", "--lines"], feed(&input)).code(0);
    let replies = support::lines(&ended.stdout);
    assert_eq!(replies.len(), input.len());
    for (reply, line) in replies.iter().zip(&input) {
        assert_eq!(reply["id"], line["id"]);
        let known = REFUSED.iter().find(|(url, _)| line["url"] == *url);
        assert_eq!(reply["verdict"], if line["id"] == "out" { "allow" } else { "deny" }, "{reply}");
        assert_eq!(
            reply["rule"],
            known.map_or_else(|| reply["rule"].clone(), |known| json!(known.1))
        );
    }
    let out =
        json!({"id": "out", "verdict": "allow", "rule": "public", "address": "93.184.215.14"});
    assert_eq!(replies.last(), Some(&out));
}

#[test]
fn an_answer_arrives_before_the_next_line_is_sent() {
    let env = TestEnv::new();
    let mut filter = env.filter(&["net", "check", "--lines"]);
    assert_eq!(filter.ask("{\"id\": 1, \"url\": \"http://127.1/\"}")["rule"], "address.loopback");
    assert_eq!(filter.ask("{\"id\": 2}")["id"], 2);
    assert_eq!(filter.ask("{\"id\": 3, \"url\": \"ftp://x\"}")["rule"], "url.scheme");
    assert_eq!(filter.end(), 2);
}
