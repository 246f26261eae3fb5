//! Integration tests of the Postgres store on a real server. Each test binary starts one server,
//! which takes a second or two, and each test uses its own databases, which take some milliseconds.

mod artifacts;
mod conformance;
mod connect;
mod connection_loss;
mod members;
mod outage;
mod performance;
mod replicas;

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::audit::{chain_hash, genesis};
use toolcrib_core::{AuditStore, canonical_json};
use toolcrib_store::{PostgresStore, StoreOptions};

/// These tests do not cover power loss, so the server need not wait for the disk.
const FAST: &[&str] = &["-c", "fsync=off"];

async fn open(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(url, StoreOptions::default()).await.unwrap())
}

/// One whose claims are renewed so seldom that a test can play a process that is paused.
async fn open_slow(url: &str) -> Arc<PostgresStore> {
    let lease = Duration::from_secs(3_600);
    Arc::new(PostgresStore::connect_for(url, StoreOptions::default(), lease).await.unwrap())
}

/// How many records there are, when in each chain each follows from the one before it.
async fn verified(store: &PostgresStore) -> usize {
    let mut count = 0;
    for (chain, newest) in store.chains().await.unwrap() {
        let rows = store.records(chain, 0, usize::MAX).await.unwrap();
        let mut previous = genesis(chain);
        for (row, place) in rows.iter().zip(1..) {
            assert_eq!((row.chain, row.seq), (chain, place));
            previous = chain_hash(&previous, &row.text);
            assert_eq!(row.hash, canonical_json::hex(&previous), "{}", row.text);
        }
        assert_eq!(rows.len() as u64, newest);
        count += rows.len();
    }
    count
}
