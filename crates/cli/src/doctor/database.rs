//! The database, the secrets, unfinished runs and the kill switch.

use toolcrib_app::{KillSwitchFile, Stores};
use toolcrib_core::RunStatus;
use toolcrib_ops::runs;
use toolcrib_store::{Inspection, OpenError};

use super::Finding;
use crate::bootstrap;
use crate::output::Failure;

const NAME: &str = "store";
/// Free pages of a database above which the check warns.
const MANY_FREE: u64 = 256 * 1024 * 1024;
/// Maximum number of runs that are checked.
const MAX_ROWS: usize = 1_000;

pub(super) async fn check() -> Result<Vec<Finding>, Failure> {
    let mut found = vec![secrets()?];
    if bootstrap::is_shared()? {
        match bootstrap::unsigned_stores() {
            Ok(stores) => {
                found.push(Finding::ok(NAME, "the shared database answers"));
                found.extend(orphaned_runs(&stores).await);
            }
            Err(failure) => found.push(
                Finding::fail(NAME, failure.message)
                    .with_fix("check TOOLCRIB_DATABASE_URL and its server"),
            ),
        }
    } else {
        found.extend(check_database().await?);
    }
    found.extend(kill_switch()?);
    Ok(found)
}

async fn check_database() -> Result<Vec<Finding>, Failure> {
    let path = bootstrap::database_path()?;
    if !path.exists() {
        return Ok(vec![Finding::ok(NAME, "there is no database yet; the first call creates it")]);
    }
    let survey = match Inspection::read(&path) {
        Ok(survey) => survey,
        Err(error) => return Ok(vec![unreadable(&error)]),
    };
    if let Some(problem) = survey.problems.first() {
        let words = format!("{} is damaged: {problem}", path.display());
        let fix = "keep a copy of it, then `toolcrib restore FILE --force`";
        return Ok(vec![Finding::fail(NAME, words).with_fix(fix)]);
    }
    if survey.version > survey.known {
        let words = format!(
            "{} has schema version {}; this program knows versions up to {}",
            path.display(),
            survey.version,
            survey.known
        );
        return Ok(vec![Finding::fail(NAME, words).with_fix("use a newer Toolcrib")]);
    }
    let mut found = Vec::new();
    let size = survey.bytes / 1_000_000;
    let later = if survey.version < survey.known { "; the next command migrates it" } else { "" };
    found.push(Finding::ok(
        NAME,
        format!(
            "schema version {} of {}, {size} MB, no damaged page{later}",
            survey.version, survey.known
        ),
    ));
    if survey.free_bytes > MANY_FREE && survey.free_bytes * 2 > survey.bytes {
        let free = survey.free_bytes / 1_000_000;
        found.push(Finding::warn(NAME, format!("{free} MB are empty pages, which SQLite reuses")));
    }
    match bootstrap::unsigned_stores() {
        Ok(stores) => found.extend(orphaned_runs(&stores).await),
        Err(failure) => found.push(Finding::fail(NAME, failure.message)),
    }
    Ok(found)
}

/// Returns the finding on a database that could not be read. Only a damaged one should be replaced.
fn unreadable(error: &OpenError) -> Finding {
    let fix = match error {
        OpenError::Damaged { .. }
        | OpenError::NotADatabase { .. }
        | OpenError::OtherApplication { .. } => {
            "keep a copy of it, then restore a backup: `toolcrib restore FILE --force`"
        }
        OpenError::Full { .. } => "free some space; the database itself is not damaged",
        OpenError::Newer { .. } => "use a newer Toolcrib; the database itself is not damaged",
        OpenError::ReadOnly { .. }
        | OpenError::Io { .. }
        | OpenError::InUse { .. }
        | OpenError::Failed { .. } => {
            "the database is probably not damaged: keep it, and make its file, folder and disk readable and writable"
        }
    };
    Finding::fail(NAME, error.to_string()).with_fix(fix)
}

/// Returns runs whose process has died.
async fn orphaned_runs(stores: &Stores) -> Vec<Finding> {
    let running = stores.runs.runs("", Some(RunStatus::Running), MAX_ROWS).await;
    let running = match running {
        Ok(running) => running,
        Err(error) => return vec![Finding::fail(NAME, error.to_string())],
    };
    let mut count = 0;
    for run in &running {
        if matches!(runs::has_live_worker(stores, run).await, Ok(false)) {
            count += 1;
        }
    }
    if count == 0 {
        return Vec::new();
    }
    let words = format!("{count} runs are unfinished, because their processes ended");
    vec![
        Finding::warn("runs", words)
            .with_fix("`toolcrib resume --list` shows them; the daemon resumes its own"),
    ]
}

/// Checks that the vault can be opened.
fn secrets() -> Result<Finding, Failure> {
    let vault = bootstrap::open_vault()?;
    Ok(match vault.read() {
        Ok(secrets) => Finding::ok("secrets", format!("{} secrets in the vault", secrets.len())),
        Err(error) => Finding::fail("secrets", error.to_string()),
    })
}

/// Checks whether the kill switch is engaged.
fn kill_switch() -> Result<Option<Finding>, Failure> {
    let stop = KillSwitchFile::in_folder(&bootstrap::state_folder()?).read();
    Ok(stop.map(|stop| {
        let by = if stop.by.is_empty() { "a person".to_owned() } else { stop.by };
        let why = if stop.why.is_empty() { String::new() } else { format!(": {}", stop.why) };
        Finding::warn("tools", format!("{by} stopped all tools{why}"))
            .with_fix("toolcrib start-tools")
    }))
}
