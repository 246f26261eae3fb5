//! Tests of https against a real TLS server on loopback, with a test certificate authority.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::server::{Reply, serve};
use crate::{AddressPolicy, HttpClient, HttpError, Limits, Request, RootCertStore, StaticResolver};

const CA: &[u8] = include_bytes!("fixtures/ca.pem");
const LEAF: &[u8] = include_bytes!("fixtures/leaf.pem");
/// Key of the test server; nothing trusts it outside these tests.
const LEAF_KEY: &[u8] = include_bytes!("fixtures/leaf.key.pem");

/// A TLS server for `tls.example.com` and 127.0.0.1 that responds with the name and protocol that
/// the client requested.
async fn start() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(LEAF).expect("certificate");
    let key = PrivateKeyDer::from_pem_slice(LEAF_KEY).expect("key");
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("server");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let addr = listener.local_addr().expect("address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let session = stream.get_ref().1;
            let protocol = session.alpn_protocol().map(String::from_utf8_lossy);
            let body = format!("{:?} {:?}", session.server_name(), protocol);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let reply = Arc::new(move |_: &str| Reply::Bytes(answer.clone().into_bytes()));
            serve(stream, reply, Arc::new(Mutex::new(Vec::new()))).await;
        }
    });
    addr
}

fn client(addr: SocketAddr) -> HttpClient {
    let table = StaticResolver::parse(["tls.example.com=127.0.0.1,wrong.example.com=127.0.0.1"]);
    HttpClient::new(AddressPolicy::with_allowed([addr.to_string()]).expect("policy"))
        .with_resolver(Arc::new(table.expect("table")))
}

fn trusting(client: HttpClient) -> HttpClient {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CA).expect("ca")).expect("root");
    client.with_tls_roots(roots).expect("tls")
}

#[tokio::test]
async fn the_certificate_is_checked_for_the_name_that_was_asked_for() {
    let addr = start().await;
    let port = addr.port();
    let trusting = trusting(client(addr));
    let rows = [
        (format!("https://tls.example.com:{port}/"), r#"Some("tls.example.com") Some("http/1.1")"#),
        (
            format!("https://tls.example.com.:{port}/"),
            r#"Some("tls.example.com") Some("http/1.1")"#,
        ),
        (format!("https://127.0.0.1:{port}/"), r#"None Some("http/1.1")"#),
    ];
    for (url, body) in rows {
        let response = trusting.fetch(&Request::get(&url), &Limits::default()).await.expect(&url);
        assert_eq!(String::from_utf8_lossy(&response.body), body);
        assert_eq!(response.head.peer, addr);
    }
    let wrong = Request::get(format!("https://wrong.example.com:{port}/"));
    let error = trusting.fetch(&wrong, &Limits::default()).await.expect_err("wrong name");
    assert!(matches!(error, HttpError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn an_unknown_issuer_is_refused_by_the_system_roots() {
    let addr = start().await;
    let request = Request::get(format!("https://tls.example.com:{}/", addr.port()));
    let error = client(addr).fetch(&request, &Limits::default()).await.expect_err("unknown issuer");
    assert!(matches!(&error, HttpError::Tls { .. }), "{error}");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
}
