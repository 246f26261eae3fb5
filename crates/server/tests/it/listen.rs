//! Listening addresses and allowed peers: TLS, proxies, live and stale sockets, the address file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use toolcrib_core::Effect;
use toolcrib_server::{Daemon, DaemonAddress, DaemonSettings};

use crate::raw_http::{exchange, exchange_on, over, request};
use crate::runs::{Gate, ONE_CALL, begun};
use crate::support::{Plan, TestDaemon};

/// Returns the path of a PEM file of the HTTP client's tests: a certificate for 127.0.0.1, its key,
/// or their authority.
fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../net/src/tests/fixtures").join(name)
}

fn encrypted(chain: PathBuf, key: PathBuf) -> Plan {
    let change = |settings: &mut DaemonSettings| settings.listen.tls = Some((chain, key));
    Plan { daemon: Box::new(change), ..Plan::default() }
}

/// Returns a TLS connector that trusts the authority of the tests.
fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pem("ca.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn tls_is_spoken_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [chain, key] = ["leaf.pem", "leaf.key.pem"].map(|name| {
        let copy = folder.path().join(name);
        std::fs::copy(pem(name), &copy).unwrap();
        copy
    });
    let daemon = TestDaemon::with(encrypted(chain.clone(), key)).await;
    let (address, token) = (daemon.address, daemon.token());
    let name = || ServerName::from(address.ip());
    let own = format!("Authorization: Bearer {token}\r\nOrigin: https://{address}\r\n");
    for (headers, status) in [(own, 200), (format!("Origin: http://{address}\r\n"), 421)] {
        let stream = TcpStream::connect(address).await.unwrap();
        let stream = connector().connect(name(), stream).await.unwrap();
        let came = over(stream, request(address, "GET /healthz", &headers)).await;
        assert_eq!(came.statuses(), [status], "{}", came.text);
    }
    let plain = exchange(address, request(address, "GET /healthz", "")).await;
    assert!(plain.statuses().is_empty(), "{}", plain.text);
    // A certificate that cannot be read does not replace the old one.
    std::fs::write(&chain, "no certificate").unwrap();
    let error = daemon.daemon.reload_certificates().unwrap_err().to_string();
    assert!(error.contains("leaf.pem"), "{error}");
    let stream = TcpStream::connect(address).await.unwrap();
    assert!(connector().connect(name(), stream).await.is_ok());
    std::fs::copy(pem("leaf.pem"), &chain).unwrap();
    daemon.daemon.reload_certificates().unwrap();
    let session =
        connector().connect(name(), TcpStream::connect(address).await.unwrap()).await.unwrap();
    let begun =
        request(address, "POST /api/v1/session", &format!("Authorization: Bearer {token}\r\n"));
    let came = over(session, begun).await;
    assert!(came.text.to_lowercase().contains("; secure"), "{}", came.text);
    daemon.stop().await;
}

/// A daemon behind a proxy at 127.0.0.1 uses the client that the proxy reports.
#[tokio::test]
async fn a_proxy_that_was_named_is_believed() {
    let change = |settings: &mut DaemonSettings| {
        settings.listen.proxies = vec!["127.0.0.1/32".parse().unwrap()];
        settings.listen.hosts = vec!["tools.example.com".to_owned()];
        settings.failed_logins_per_minute = 1;
    };
    let daemon = TestDaemon::with(Plan { daemon: Box::new(change), ..Plan::default() }).await;
    let ask = async |client: &str, headers: &str| {
        let sent = format!(
            "GET /api/v1/tools HTTP/1.1\r\nHost: tools.example.com\r\nConnection: close\r\nX-Forwarded-For: {client}\r\n\
             X-Forwarded-Proto: https\r\n{headers}\r\n"
        );
        exchange(daemon.address, sent).await
    };
    let own = format!(
        "Authorization: Bearer {}\r\nOrigin: https://tools.example.com\r\n",
        daemon.token()
    );
    assert_eq!(ask("198.51.100.1", &own).await.statuses(), [200]);
    assert_eq!(ask("198.51.100.1", "Origin: http://tools.example.com\r\n").await.statuses(), [421]);
    let wrong = "Authorization: Bearer tcb_x\r\n";
    // Failed logins are counted per client, not for the proxy as a whole.
    assert_eq!(ask("198.51.100.1", wrong).await.statuses(), [401]);
    assert_eq!(ask("198.51.100.1", wrong).await.statuses(), [429]);
    assert_eq!(ask("198.51.100.2", wrong).await.statuses(), [401]);
    daemon.stop().await;
}

#[tokio::test]
async fn the_address_file_says_where_a_daemon_is_as_long_as_it_is_there() {
    let daemon = TestDaemon::start().await;
    let socket = daemon.socket();
    let folder = socket.parent().unwrap().to_owned();
    let found = DaemonAddress::read(&folder).unwrap().unwrap();
    assert_eq!(
        (found.pid, found.tcp, found.tls),
        (std::process::id(), Some(daemon.address), false)
    );
    assert_eq!(found.unix, Some(socket.clone()));
    let came =
        exchange_on(&socket, "GET /api/v1/session HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert!(came.text.contains("owner@socket"), "{}", came.text);
    daemon.stop().await;
    assert_eq!(DaemonAddress::read(&folder).unwrap(), None);
    assert!(!socket.exists());
}

/// Starts a second daemon with these settings beside the first one and returns the error.
async fn refused(first: &TestDaemon, change: impl FnOnce(&mut DaemonSettings)) -> String {
    let other = tempfile::tempdir().unwrap();
    let mut settings = DaemonSettings::new(other.path().join("daemon"));
    change(&mut settings);
    let (toolcrib, runner) = (first.toolcrib.clone(), first.runner.clone());
    let second = Daemon::new(toolcrib, runner, first.host.clone(), settings);
    let started = match second.await {
        Ok(daemon) => daemon.serve(|_| panic!("it started")).await,
        Err(error) => Err(error),
    };
    started.unwrap_err().to_string()
}

#[tokio::test]
async fn what_is_not_safe_is_not_listened_on() {
    let daemon = TestDaemon::start().await;
    let (socket, address) = (daemon.socket(), daemon.address);
    let folder = socket.parent().unwrap().to_owned();
    let error = refused(&daemon, |settings| settings.folder = folder).await;
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    let error = refused(&daemon, |settings| settings.listen.unix = Some(socket)).await;
    assert!(error.contains("another daemon listens"), "{error}");
    let error = refused(&daemon, |settings| settings.listen.tcp = Some(address)).await;
    assert!(error.contains("cannot listen on"), "{error}");
    let open = "0.0.0.0:0".parse().unwrap();
    let error = refused(&daemon, |settings| settings.listen.tcp = Some(open)).await;
    assert!(error.contains("--tls-cert") && error.contains("--trusted-proxy"), "{error}");
    let no_key = Some((pem("leaf.pem"), pem("leaf.pem")));
    let error = refused(&daemon, |settings| settings.listen.tls = no_key).await;
    assert!(error.contains("cannot be used for TLS"), "{error}");
    assert_eq!(daemon.client().get("/healthz").await.status, 200);
    daemon.stop().await;
}

/// Two daemons use one database: the one that fails to listen takes over nothing from the other.
#[tokio::test]
async fn one_that_cannot_listen_takes_nothing_over() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    begun(&daemon.client(), &json!({"text": "go"})).await;
    gate.began(1).await;
    for _ in 0..10 {
        refused(&daemon, |settings| settings.listen.tcp = Some(daemon.address)).await;
    }
    assert_eq!(daemon.host.looks.load(Ordering::Relaxed), 0, "it looked for runs to take");
    gate.open(1);
    daemon.stop().await;
}
