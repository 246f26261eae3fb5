//! Tests of the egress proxy: only named hosts at checked addresses.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use toolcrib_net::{AddressPolicy, StaticResolver};
use toolcrib_sandbox::process::Limits;
use toolcrib_sandbox::{Egress, HostRules, JobResult, Level, Network, Policy, run};

use crate::test_host::{World, is_here, local};

/// Starts a host that answers each request with its own text, until the test ends.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = vec![0; 4096];
            let read = stream.read(&mut asked).unwrap_or(0);
            let body = String::from_utf8_lossy(&asked[..read]).into_owned();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

async fn ask(
    hosts: &[String],
    opened: &[String],
    names: &[String],
    script: &str,
) -> (String, JobResult) {
    let world = World::new();
    let network = Network::Hosts(HostRules::parse(hosts).unwrap());
    let egress = Egress::new(
        AddressPolicy::with_allowed(opened).unwrap(),
        Arc::new(StaticResolver::parse(names).unwrap()),
    );
    let job = world.script(Policy { network, ..world.policy() }, script);
    let local = local(Level::Namespace).egress(egress);
    let ran = run(&local, &job, b"", Limits::default(), std::future::pending()).await;
    let (report, ended) = ran.unwrap();
    (format!("{}{}", report.stdout.text(), report.stderr.text()), ended)
}

/// Returns a shell script that sends a raw request through the proxy.
fn request(text: &str) -> String {
    format!("exec 5<>/dev/tcp/127.0.0.1/3128; printf '{text}' >&5; cat <&5")
}

fn bash(text: &str) -> String {
    format!("bash -c \"{}\"", request(text).replace('"', "\\\""))
}

#[tokio::test]
async fn a_named_host_is_reached_and_the_request_is_written_anew() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let port = echo();
    let host = format!("site.example:{port}");
    let names = ["site.example=127.0.0.1".to_owned()];
    let own = [host.clone()];
    let get = format!(
        "GET http://SITE.example:{port}/a?b HTTP/1.1\\r\\nHost: elsewhere\\r\\nProxy-Authorization: x\\r\\nX-Own: y\\r\\n\\r\\n"
    );
    let (said, ended) = ask(&own, &own, &names, &bash(&get)).await;
    assert!(
        said.contains(&format!(
            "GET /a?b HTTP/1.1\r\nHost: {host}\r\nX-Own: y\r\nConnection: close"
        )),
        "{said}"
    );
    assert_eq!(ended.refused, []);
    let tunnel = format!("CONNECT {host} HTTP/1.1\\r\\n\\r\\nhello");
    let (said, _) = ask(&own, &own, &names, &bash(&tunnel)).await;
    assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("hello"), "{said}");
    let (said, _) = ask(&own, &own, &names, "env | grep -i _proxy | sort | head -2").await;
    assert!(said.contains("ALL_PROXY=http://127.0.0.1:3128"), "{said}");
}

#[tokio::test]
async fn everything_else_is_refused_and_remembered() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let port = echo();
    let listed = [
        format!("site.example:{port}"),
        "inward.example:80".to_owned(),
        format!("127.0.0.1:{port}"),
    ];
    let opened = [format!("site.example:{port}")];
    let names =
        ["site.example=127.0.0.1", "inward.example=10.0.0.1", "other.example=93.184.215.14"]
            .map(str::to_owned);
    let check = async |wish: &str, status: &str, rule: &str| {
        let (said, ended) = ask(&listed, &opened, &names, &bash(wish)).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{wish}: {said}");
        let rules: Vec<&str> = ended.refused.iter().map(|one| one.rule.as_str()).collect();
        assert_eq!(rules, [rule], "{wish}: {said}");
    };
    check("CONNECT other.example:443 HTTP/1.1\\r\\n\\r\\n", "403", "host.not_listed").await;
    check("CONNECT site.example:1 HTTP/1.1\\r\\n\\r\\n", "403", "url.port").await;
    check("CONNECT site.example:8443 HTTP/1.1\\r\\n\\r\\n", "403", "host.not_listed").await;
    check("GET http://inward.example/ HTTP/1.1\\r\\n\\r\\n", "403", "address.private").await;
    check(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n"), "403", "address.loopback")
        .await;
    check(
        &format!("CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\\r\\n\\r\\n"),
        "403",
        "address.loopback",
    )
    .await;
    check("GET http://169.254.169.254/ HTTP/1.1\\r\\n\\r\\n", "403", "address.metadata").await;
}

#[tokio::test]
async fn no_way_leads_around_the_proxy() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let port = echo();
    let own = [format!("site.example:{port}")];
    let script = format!(
        "bash -c 'exec 5<>/dev/tcp/127.0.0.1/{port}' && echo DONE; bash -c 'echo x > /dev/udp/93.184.215.14/53' && echo DONE; getent hosts example.com && echo DONE"
    );
    let (said, _) = ask(&own, &own, &[], &script).await;
    assert!(!said.contains("DONE"), "{said}");
}
