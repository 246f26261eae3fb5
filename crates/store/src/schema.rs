//! Schema migrations of the SQLite store. They only go forward; `user_version` counts the applied
//! ones.

use rusqlite::{Connection, TransactionBehavior};

use crate::connection::APPLICATION;

/// All migrations. A released migration never changes.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
    include_str!("migrations/005.sql"),
    include_str!("migrations/006.sql"),
    include_str!("migrations/007.sql"),
    include_str!("migrations/008.sql"),
    include_str!("migrations/009.sql"),
    include_str!("migrations/010.sql"),
    include_str!("migrations/011.sql"),
    include_str!("migrations/012.sql"),
];

/// Returns the schema version after these migrations.
pub(crate) fn version(migrations: &[&str]) -> i32 {
    i32::try_from(migrations.len()).unwrap_or(i32::MAX)
}

/// Applies the missing migrations, each in its own transaction, and returns the version of the
/// database. Leaves a database with a version newer than `migrations` unchanged.
pub(crate) fn migrate(conn: &mut Connection, migrations: &[&str]) -> rusqlite::Result<i32> {
    loop {
        let found = user_version(conn)?;
        if !(0..version(migrations)).contains(&found) {
            return Ok(found);
        }
        step(conn, migrations)?;
    }
}

/// Applies the next migration. Checks the version again under the write lock: another process may
/// have migrated meanwhile.
fn step(conn: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = user_version(&transaction)?;
    let next = usize::try_from(found).ok().and_then(|found| migrations.get(found));
    if let Some(migration) = next {
        transaction.execute_batch(migration)?;
        crate::failpoint::hit("migrate");
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", found + 1)?;
    }
    transaction.commit()
}

/// Returns the schema version of a database.
pub(crate) fn user_version(conn: &Connection) -> rusqlite::Result<i32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "CREATE TABLE a (x TEXT) STRICT; INSERT INTO a VALUES ('kept');";
    const TWO: &str = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 2;";
    const BAD: &str = "CREATE TABLE b (x TEXT) STRICT; INSERT INTO nowhere VALUES (1);";

    fn tables(conn: &Connection) -> Vec<String> {
        let mut statement = conn.prepare("SELECT name FROM sqlite_schema ORDER BY name").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_database_goes_forward_from_any_version_and_keeps_its_rows() {
        let mut conn = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut conn, &[ONE]).unwrap(), 1);
        assert_eq!(migrate(&mut conn, &[ONE, TWO]).unwrap(), 2);
        assert_eq!(migrate(&mut conn, &[ONE, TWO]).unwrap(), 2);
        let row: (String, i64) =
            conn.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, ("kept".into(), 2));
        let mark: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
        assert_eq!(mark, APPLICATION);
    }

    #[test]
    fn a_migration_that_fails_leaves_nothing_half() {
        let mut conn = Connection::open_in_memory().unwrap();
        assert!(migrate(&mut conn, &[ONE, BAD, TWO]).is_err());
        assert_eq!((user_version(&conn).unwrap(), tables(&conn)), (1, vec!["a".into()]));
        assert_eq!(migrate(&mut conn, &[ONE, TWO]).unwrap(), 2);
    }

    #[test]
    fn a_version_that_is_not_known_is_left_alone() {
        for version in [3, -1, i32::MAX] {
            let mut conn = Connection::open_in_memory().unwrap();
            conn.pragma_update(None, "user_version", version).unwrap();
            assert_eq!(migrate(&mut conn, &[ONE, TWO]).unwrap(), version);
            assert!(tables(&conn).is_empty());
        }
    }

    #[test]
    fn switches_that_were_on_or_off_stay_so_when_there_is_a_third_state() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &MIGRATIONS[..4]).unwrap();
        conn.execute_batch(
            "INSERT INTO switches (owner, name, enabled, by, at)
            VALUES ('ann', 'tool:a', 1, 'bob', 1), ('ann', 'tool:b', 0, 'bob', 2)",
        )
        .unwrap();
        assert_eq!(migrate(&mut conn, MIGRATIONS).unwrap(), version(MIGRATIONS));
        let mut statement =
            conn.prepare("SELECT name, state, at FROM switches ORDER BY name").unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows: Vec<(String, String, i64)> =
            statement.query_map([], row).unwrap().map(Result::unwrap).collect();
        let kept = [("tool:a", "on", 1), ("tool:b", "off", 2)];
        assert_eq!(rows, kept.map(|(name, state, at)| (name.to_owned(), state.to_owned(), at)));
    }

    #[test]
    fn every_index_is_used() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, MIGRATIONS).unwrap();
        for (sql, index) in [
            (
                "FROM conversations WHERE owner = 'a' ORDER BY updated_at DESC, id DESC",
                "conversations_of_owner",
            ),
            ("FROM runs WHERE owner = 'a' ORDER BY created_at DESC, id DESC", "runs_of_owner"),
            (
                "FROM deleted_conversations WHERE owner = 'a' ORDER BY deleted_at DESC, id DESC",
                "deleted_conversations_of_owner",
            ),
            (
                "FROM deleted_conversations WHERE deleted_at < 1 ORDER BY deleted_at",
                "deleted_conversations_by_time",
            ),
            ("FROM deleted_runs WHERE conversation = 'c'", "deleted_runs_of_conversation"),
            (
                "FROM runs WHERE owner = 'a' AND status = 'paused' ORDER BY created_at DESC, id DESC",
                "runs_of_owner_by_status",
            ),
            ("FROM approvals WHERE decision IS NULL ORDER BY id", "approvals_pending"),
            (
                "FROM grants WHERE owner = 'a' AND operation = 'o' ORDER BY place",
                "grants_of_operation",
            ),
            ("FROM approvals WHERE call = 'c' ORDER BY id DESC", "approvals_of_call"),
            ("FROM approvals WHERE owner = 'a' ORDER BY id DESC", "approvals_of_owner"),
            ("FROM workers WHERE ended_at IS NULL", "workers_at_work"),
            ("FROM batches WHERE done = 0 ORDER BY id", "batches_open"),
            ("FROM batches WHERE owner = 'a' AND key = 'k'", "sqlite_autoindex_batches_2"),
            ("FROM calls WHERE outcome IS NULL ORDER BY id", "calls_open"),
            ("FROM calls WHERE parent = 'c' ORDER BY id DESC", "calls_of_parent"),
            ("FROM audit WHERE call = 'c' ORDER BY seq", "audit_of_call"),
            (
                "FROM memory_changes WHERE owner = 'a' ORDER BY number DESC",
                "memory_changes_of_owner",
            ),
            (
                "FROM assistant_changes WHERE owner = 'a' AND kind = 'list' ORDER BY number DESC",
                "assistant_changes_of_kind",
            ),
            (
                "FROM document_chunks WHERE owner = 'a' AND id > 1 ORDER BY id",
                "document_chunks_of_owner",
            ),
            ("FROM tasks WHERE owner = 'a' ORDER BY id", "tasks_of_owner"),
            ("FROM notifications WHERE owner = 'a' ORDER BY id DESC", "notifications_of_owner"),
            (
                "FROM notifications WHERE created_at >= 1 ORDER BY created_at",
                "notifications_by_time",
            ),
            (
                "FROM tasks WHERE wake_at IS NOT NULL AND wake_at <= 1 ORDER BY wake_at",
                "tasks_waking",
            ),
        ] {
            let mut statement =
                conn.prepare(&format!("EXPLAIN QUERY PLAN SELECT * {sql}")).unwrap();
            let plan: Vec<String> =
                statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            let uses = plan.iter().any(|step| step.contains(&format!("INDEX {index}")));
            let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
            assert!(uses && !sorts, "{sql}: {plan:?}");
        }
    }
}
