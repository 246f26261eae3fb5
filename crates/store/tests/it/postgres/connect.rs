//! Tests of opening a Postgres database: created tables, refused databases, and messages without
//! passwords.

use std::process::Command;

use toolcrib_core::{KeyValueStore as _, SwitchState, SwitchStore as _};
use toolcrib_store::{ConnectError, PostgresStore, StoreOptions};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open};

/// The first version of the tables.
const FIRST: &str = include_str!("../../../src/postgres/migrations/001.sql");

/// The newest version of them.
fn newest() -> i32 {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/migrations");
    std::fs::read_dir(folder).unwrap().count().try_into().unwrap()
}

async fn refused(url: &str) -> ConnectError {
    PostgresStore::connect(url, StoreOptions::default()).await.err().unwrap()
}

/// A certificate for `localhost` that is its own authority, where the server finds it.
fn make_certificate(server: &PostgresServer) {
    let folder = server.folder();
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(folder.join("server.crt"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(folder).unwrap();
    std::os::unix::fs::chown(folder.join("server.key"), Some(owner.uid()), Some(owner.gid()))
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_ours_is_opened() {
    let server = PostgresServer::start_on_tcp(FAST);
    let port = server.port();
    many_make_the_tables_at_once(&server).await;
    an_older_store_goes_forward_with_its_switches(&server).await;
    what_is_not_ours_is_left_alone(&server).await;
    a_newer_store_is_left_alone(&server).await;
    another_encoding_is_refused(&server).await;
    a_password_is_checked_and_never_said(&server, port).await;
    what_is_encrypted_is_checked(&server, port).await;
}

async fn many_make_the_tables_at_once(server: &PostgresServer) {
    let url = server.database("many");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = url.clone();
        tasks.spawn(async move { open(&url).await });
    }
    let stores = tasks.join_all().await;
    stores[0].put_value("a", "b").await.unwrap();
    assert_eq!(stores[3].value("a").await.unwrap().as_deref(), Some("b"));
    assert_eq!(
        server.sql("many", "SELECT count(*), max(version) FROM toolcrib_schema"),
        format!("1|{}", newest())
    );
}

/// Switches that were on or off before the third state existed keep their state.
async fn an_older_store_goes_forward_with_its_switches(server: &PostgresServer) {
    let url = server.database("older");
    server.sql("older", FIRST);
    server.sql(
        "older",
        "CREATE TABLE toolcrib_schema (version integer NOT NULL);
        INSERT INTO toolcrib_schema VALUES (1);
        INSERT INTO switches VALUES ('ann', 'tool:a', true, 'bob', 1), ('ann', 'tool:b', false, 'bob', 2)",
    );
    let switches = open(&url).await.switches("ann").await.unwrap();
    let states: Vec<_> =
        switches.iter().map(|row| (row.name.as_str(), row.state, row.at)).collect();
    assert_eq!(states, [("tool:a", SwitchState::On, 1), ("tool:b", SwitchState::Off, 2)]);
    assert_eq!(server.sql("older", "SELECT version FROM toolcrib_schema"), newest().to_string());
}

async fn what_is_not_ours_is_left_alone(server: &PostgresServer) {
    let url = server.database("theirs");
    server.sql("theirs", "CREATE TABLE facts (x int)");
    let error = refused(&url).await;
    assert!(matches!(&error, ConnectError::OtherApplication { place } if place.contains("theirs")));
    let tables =
        "SELECT string_agg(relname, ',') FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(server.sql("theirs", tables), "facts");
    // A separate schema next to the foreign one.
    server.sql("theirs", "CREATE SCHEMA crib");
    open(&format!("{url}?options=-csearch_path%3Dcrib")).await.put_value("a", "b").await.unwrap();
    assert_eq!(server.sql("theirs", tables), "facts");
    assert_eq!(server.sql("theirs", "SELECT value FROM crib.facts"), "b");
    let error = refused(&server.url("nowhere")).await.to_string();
    assert!(error.contains("\"nowhere\"") && error.contains("does not exist"), "{error}");
}

async fn a_newer_store_is_left_alone(server: &PostgresServer) {
    let url = server.database("newer");
    drop(open(&url).await);
    server.sql("newer", "UPDATE toolcrib_schema SET version = 1000");
    let error = refused(&url).await;
    assert!(
        matches!(error, ConnectError::Newer { found: 1_000, known, .. } if known == newest()),
        "{error}"
    );
    assert_eq!(server.sql("newer", "SELECT version FROM toolcrib_schema"), "1000");
}

async fn another_encoding_is_refused(server: &PostgresServer) {
    server.sql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let error = refused(&server.url("latin")).await;
    assert!(matches!(&error, ConnectError::NotUtf8 { encoding, .. } if encoding == "LATIN1"));
}

async fn a_password_is_checked_and_never_said(server: &PostgresServer, port: u16) {
    let _ = server.database("secret");
    server.sql(
        "secret",
        "CREATE ROLE ann LOGIN PASSWORD 'r1ght-w0rd'; GRANT ALL ON SCHEMA public TO ann",
    );
    let url = |password: &str| format!("postgres://ann:{password}@127.0.0.1:{port}/secret");
    let store = open(&url("r1ght-w0rd")).await;
    store.put_value("a", "b").await.unwrap();
    let error = refused(&url("wr0ng-w0rd")).await;
    let said = format!("{error} {error:?}");
    assert!(said.contains("password authentication failed"), "{said}");
    let closed = url("r1ght-w0rd").replace(&port.to_string(), "1");
    for said in
        [said, format!("{:?}", refused(&closed).await), format!("{}", refused(&closed).await)]
    {
        assert!(!said.contains("w0rd"), "{said}");
    }
    assert!(
        !server
            .sql("secret", "SELECT string_agg(query, ' ') FROM pg_stat_activity")
            .contains("w0rd")
    );
}

async fn what_is_encrypted_is_checked(server: &PostgresServer, port: u16) {
    let folder = server.folder().display().to_string();
    let url = format!("postgres://ann:r1ght-w0rd@localhost:{port}/secret?sslmode=require");
    let error = refused(&url).await.to_string();
    assert!(error.contains("does not support TLS"), "{error}");
    make_certificate(server);
    server.sql("postgres", &format!("ALTER SYSTEM SET ssl_cert_file = '{folder}/server.crt'"));
    server.sql("postgres", &format!("ALTER SYSTEM SET ssl_key_file = '{folder}/server.key'"));
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let trusted = format!("{url}&sslrootcert={folder}/server.crt");
    // The server reloads its settings asynchronously.
    let store = loop {
        match PostgresStore::connect(&trusted, StoreOptions::default()).await {
            Ok(store) => break store,
            Err(error) => assert!(error.to_string().contains("does not support TLS"), "{error}"),
        }
    };
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("b"));
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'ann'";
    assert_eq!(server.sql("secret", encrypted), "t");
    let error = refused(&url).await.to_string();
    assert!(error.contains("certificate"), "{error}");
    let error = refused(&trusted.replace("localhost", "127.0.0.1")).await.to_string();
    assert!(error.contains("certificate"), "{error}");
}
