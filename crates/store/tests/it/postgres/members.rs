//! Tests of a shared database from the operator's view: migrations as a separate step, the rights
//! that a daemon needs, the running daemons, and figures.

use std::time::Duration;

use toolcrib_core::store::StoreMonitor as _;
use toolcrib_core::{
    AuditStore as _, CallStore as _, Effect, KeyValueStore as _, SwitchStore as _,
};
use toolcrib_store::{
    ConnectError, Migrations, PostgresStore, ProcessIdentity, SchemaVersion, SharedOptions,
    StoreOptions,
};
use toolcrib_testkit::conformance::{intent, settlement};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open};

fn shared(shared: SharedOptions) -> StoreOptions {
    StoreOptions { shared, ..StoreOptions::default() }
}

fn refusing() -> StoreOptions {
    shared(SharedOptions { migrations: Migrations::Refuse, ..SharedOptions::default() })
}

fn daemon(host: &str) -> StoreOptions {
    let identity = ProcessIdentity { host: host.to_owned(), version: "1.2.3".to_owned() };
    shared(SharedOptions { identity: Some(identity), ..SharedOptions::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_see_what_a_database_needs_and_who_works_on_it() {
    let server = PostgresServer::start_with(FAST);
    missing_migrations_are_refused_where_they_are_a_step_of_their_own(&server).await;
    a_role_without_the_right_to_create_tables_is_enough(&server).await;
    daemons_are_listed_with_their_heartbeat(&server).await;
    a_daemon_opens_seven_connections_at_most(&server).await;
    figures_count_reads_commits_renewals_and_fenced_writes(&server).await;
}

async fn missing_migrations_are_refused_where_they_are_a_step_of_their_own(
    server: &PostgresServer,
) {
    let url = server.database("steps");
    let version = PostgresStore::schema_version(&url).await.unwrap();
    let known = version.known;
    assert_eq!((version.found, version.is_pending()), (None, true));
    let refused = PostgresStore::connect(&url, refusing()).await.err().unwrap();
    assert!(
        matches!(&refused, ConnectError::Pending { found: 0, known: needs, .. } if *needs == known),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("toolcrib db migrate"), "{refused}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(server.sql("steps", tables), "0", "looking changes nothing");
    let before = PostgresStore::migrate(&url).await.unwrap();
    assert_eq!(before, SchemaVersion { found: None, known });
    let again = PostgresStore::migrate(&url).await.unwrap();
    assert_eq!((again.found, again.is_pending()), (Some(known), false));
    PostgresStore::connect(&url, refusing()).await.unwrap();
    server.sql("steps", "UPDATE toolcrib_schema SET version = 1000");
    let newer = PostgresStore::schema_version(&url).await.unwrap_err();
    assert!(matches!(newer, ConnectError::Newer { found: 1_000, .. }), "{newer}");
}

/// The rights that docs/several-daemons.md names.
const RIGHTS: &str = "CREATE ROLE daemon LOGIN;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO daemon;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO daemon;";

async fn a_role_without_the_right_to_create_tables_is_enough(server: &PostgresServer) {
    let url = server.database("rights");
    PostgresStore::migrate(&url).await.unwrap();
    server.sql("rights", RIGHTS);
    let url = url.replace("postgres@", "daemon@");
    let store = PostgresStore::connect(&url, refusing()).await.unwrap();
    let epoch = store.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, epoch);
    store.begin(begun.clone()).await.unwrap();
    store.settle(settlement(begun.facts, Some(1_500), epoch)).await.unwrap();
    store.put_value("a", "b").await.unwrap();
    store.recover(epoch, 5_000).await.unwrap();
    store.release(epoch).await.unwrap();
    assert_eq!(store.switches("ann").await.unwrap(), []);
    assert_eq!(store.chains().await.unwrap().len(), 1);
    for (write, rows) in [
        ("grants (id, owner, operation, body)", "'g', 'ann', 'x', '{}'"),
        ("usage (owner, run, at, by_model, by_agent, body)", "'ann', 'r', 1, 'm', 'a', '{}'"),
    ] {
        // The table itself draws their keys, which needs no separate right.
        let sql = format!("SET ROLE daemon; INSERT INTO {write} VALUES ({rows})");
        server.sql("rights", &sql);
    }
}

async fn daemons_are_listed_with_their_heartbeat(server: &PostgresServer) {
    let url = server.database("members");
    let lease = Duration::from_millis(300);
    let one = PostgresStore::connect_for(&url, daemon("one"), lease).await.unwrap();
    let two = PostgresStore::connect(&url, daemon("two")).await.unwrap();
    let command = open(&url).await;
    let (first, second) = (one.claim().await.unwrap(), two.claim().await.unwrap());
    command.claim().await.unwrap();
    let found = command.members().await.unwrap();
    let rows: Vec<_> = found.iter().map(|m| (m.epoch, m.host.as_str(), m.is_alive)).collect();
    assert_eq!(rows, [(first, "one", true), (second, "two", true)], "the command is not listed");
    let seen = &found[0];
    assert_eq!((seen.version.as_str(), seen.pid), ("1.2.3", u64::from(std::process::id())));
    assert!(seen.started_at <= seen.heartbeat_at, "{seen:?}");
    while command.members().await.unwrap()[0].heartbeat_at == seen.heartbeat_at {}
    // It hangs beyond its lease, and no process has taken over its claim.
    server.sql(
        "members",
        &format!("UPDATE workers SET expires_at = now() - interval '1 h' WHERE epoch = {second}"),
    );
    let found = command.members().await.unwrap();
    assert_eq!((found[1].host.as_str(), found[1].is_alive), ("two", false));
    drop(one);
    let found = command.members().await.unwrap();
    assert_eq!(found.len(), 1, "one that ended as it should is gone: {found:?}");
    server.sql("members", "UPDATE workers SET expires_at = now() - interval '2 days'");
    assert_eq!(command.members().await.unwrap(), []);
}

async fn a_daemon_opens_seven_connections_at_most(server: &PostgresServer) {
    let url = server.database("pool");
    let store = open(&url).await;
    store.claim().await.unwrap();
    let reads = (0..50).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.value("a").await.unwrap() })
    });
    for read in reads.collect::<Vec<_>>() {
        read.await.unwrap();
    }
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'pool' AND application_name = 'toolcrib'";
    let connections: u32 = server.sql("postgres", open).parse().unwrap();
    assert!((2..=7).contains(&connections), "{connections}");
    let figures = store.figures().unwrap();
    assert_eq!((figures.pool_limit, figures.pool_in_use), (4, 0));
    assert!((1..=4).contains(&figures.pool_idle), "{figures:?}");
    assert!(figures.pool_waits > 0, "50 reads at once share four connections: {figures:?}");
}

async fn figures_count_reads_commits_renewals_and_fenced_writes(server: &PostgresServer) {
    let url = server.database("figures");
    let lease = Duration::from_millis(300);
    let store = PostgresStore::connect_for(&url, StoreOptions::default(), lease).await.unwrap();
    let held = store.claim().await.unwrap();
    store.put_value("a", "b").await.unwrap();
    store.value("a").await.unwrap();
    let figures = store.figures().unwrap();
    let count = |counts: &[u64]| counts.iter().sum::<u64>();
    assert!(
        count(&figures.reads.counts) >= 1 && count(&figures.commits.counts) >= 2,
        "{figures:?}"
    );
    assert!(figures.reads.total > Duration::ZERO && figures.commits.total > Duration::ZERO);
    while store.figures().unwrap().renewals == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.figures().unwrap().fenced_writes, 0);
    server.sql("figures", "UPDATE workers SET state = 'fenced'");
    store.begin(intent(Effect::SideEffect, held)).await.unwrap_err();
    assert_eq!(store.figures().unwrap().fenced_writes, 1);
}
