//! Compares the database with what the tools did, with what callers were told, and with what those
//! were told who decided.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_core::audit::{chain_hash, genesis};
use toolcrib_core::{CallId, canonical_json};
use toolcrib_store::SharedOptions;

use super::findings::Finding;
use super::tasks;
use super::test_tools::{self, Execution, PURE};
use super::trial_context::{DATABASE, TrialContext};
use crate::error::Result;

/// Microseconds after the kill switch was acknowledged from which no daemon may start a call:
/// docs/getting-started.md promises 100 ms on every daemon.
const EVERYWHERE: u128 = 100_000;

/// A call as the database has it.
struct Row {
    tool: String,
    outcome: String,
    is_of_run: bool,
}

/// The longest time, in milliseconds, from when a call was accepted, or decided about, to its end.
const LONGEST: &str = "SELECT max(c.ended_at - greatest(b.at, q.at))
    FROM calls c
    JOIN (SELECT unnest(calls) AS call, min((body::json->>'accepted_at')::bigint) AS at
        FROM batches GROUP BY 1) b ON b.call = c.id
    LEFT JOIN (SELECT call, max((decision::json->>'decided_at')::bigint) AS at
        FROM approvals GROUP BY 1) q ON q.call = c.id";

/// Calls that succeeded although a person denied them.
const REFUSED: &str = "SELECT c.id FROM calls c JOIN approvals a ON a.call = c.id
    WHERE c.outcome = 'succeeded' AND a.decision::json->'decision'->>'decision' IN ('deny', 'skip')";

type ExecutionsByCall = HashMap<CallId, Vec<Execution>>;

/// Judges everything, when no daemon works any more.
pub(super) async fn verify(world: &TrialContext) -> Result<()> {
    let rows = rows(world)?;
    let deeds = test_tools::read(&world.ledger)?;
    executions(world, &rows, &deeds);
    callers(world, &rows);
    runs(world, &deeds);
    tasks::verify(world, |sql| world.sql(sql));
    decisions(world)?;
    starts(world, &deeds);
    audit(world).await
}

impl TrialContext {
    fn sql(&self, sql: &str) -> Vec<Vec<String>> {
        let text = tokio::task::block_in_place(|| self.server.sql(DATABASE, sql));
        let rows = text.lines().map(|line| line.split('|').map(str::to_owned).collect());
        rows.collect()
    }

    /// What the database has about a call, to find the reason of a finding.
    fn describe_call(&self, call: CallId) -> String {
        let tables = [
            format!(
                "SELECT tool, epoch, received_at, started_at, ended_at, outcome FROM calls WHERE id = '{call}'"
            ),
            format!("SELECT id, decision FROM approvals WHERE call = '{call}'"),
            format!("SELECT id, epoch, is_done FROM batches WHERE '{call}' = ANY (calls)"),
            format!("SELECT chain, text FROM audit WHERE call = '{call}' ORDER BY chain, seq"),
        ];
        tables.iter().map(|sql| format!("{:?} ", self.sql(sql))).collect()
    }
}

fn rows(world: &TrialContext) -> Result<HashMap<CallId, Row>> {
    let sql = "SELECT id, coalesce(tool, ''), coalesce(outcome, ''), run IS NOT NULL FROM calls";
    let mut rows = HashMap::new();
    for row in world.sql(sql) {
        let [id, tool, outcome, is_of_run] = &row[..] else {
            return Err(format!("a row is broken: {row:?}").into());
        };
        let (tool, outcome) = (tool.clone(), outcome.clone());
        rows.insert(id.parse()?, Row { tool, outcome, is_of_run: is_of_run == "t" });
    }
    Ok(rows)
}

/// The tools' account against the database's.
fn executions(world: &TrialContext, rows: &HashMap<CallId, Row>, deeds: &ExecutionsByCall) {
    for call in deeds.keys().filter(|call| !rows.contains_key(call)) {
        world.tally.add_finding(Finding::Lost, &format!("{call}: it ran, and nothing is recorded"));
    }
    for (call, row) in rows {
        world.tally.count("calls");
        if row.outcome == "unknown" {
            world.tally.count("unknown");
        }
        let ran = deeds.get(call).map_or(0, Vec::len);
        let once = row.tool != PURE;
        match row.outcome.as_str() {
            "" => {
                let words = format!("{call}: it has no outcome: {}", world.describe_call(*call));
                world.tally.add_finding(Finding::Lost, &words);
            }
            _ if once && ran > 1 => {
                world.tally.add_finding(Finding::Doubled, &format!("{call}: it ran {ran} times"));
            }
            "succeeded" if ran == 0 => {
                world
                    .tally
                    .add_finding(Finding::Contradiction, &format!("{call}: succeeded, never ran"));
            }
            "denied" | "expired" if ran > 0 => {
                let words = format!("{call}: it is {}, and ran", row.outcome);
                world.tally.add_finding(Finding::Contradiction, &words);
            }
            _ => {}
        }
        if ran > 1 {
            world.tally.count("done_again");
        }
    }
    let longest = world.sql(LONGEST).first().and_then(|row| row.first()?.parse().ok());
    world.tally.longest("longest_to_settle_ms", Duration::from_millis(longest.unwrap_or_default()));
    world.tally.set("executions", deeds.values().map(|deeds| deeds.len() as u64).sum());
    let settled = "SELECT call, count(*) FROM audit WHERE text::json->>'kind' = 'settled' GROUP BY call HAVING count(*) > 1";
    for row in world.sql(settled) {
        world.tally.add_finding(Finding::Doubled, &format!("settled more than once: {row:?}"));
    }
}

/// What callers were told against the database.
fn callers(world: &TrialContext, rows: &HashMap<CallId, Row>) {
    let calls = world.known.calls();
    for (place, known) in calls.iter().enumerate() {
        let Some(id) = known.id.as_ref().and_then(|id| id.parse::<CallId>().ok()) else {
            world.tally.add_finding(Finding::Lost, &format!("call {place} was never accepted"));
            continue;
        };
        let outcome = rows.get(&id).map(|row| row.outcome.as_str());
        match (&known.status, outcome) {
            (_, None) => {
                world.tally.add_finding(Finding::Lost, &format!("{id}: accepted, and not there"));
            }
            (Some(told), Some(outcome)) if told != outcome => {
                let story = world.describe_call(id);
                let words =
                    format!("{id}: its caller was told {told}, and it is {outcome}: {story}");
                world.tally.add_finding(Finding::Contradiction, &words);
            }
            _ => {}
        }
    }
    let ids: HashSet<CallId> =
        calls.iter().filter_map(|known| known.id.as_ref()?.parse().ok()).collect();
    for (call, _) in rows.iter().filter(|(call, row)| !row.is_of_run && !ids.contains(call)) {
        world
            .tally
            .add_finding(Finding::Doubled, &format!("{call}: there, and nobody knows of it"));
    }
}

/// Two that work on one run would both take its next step: each step is another call, and ran at
/// most once in all of them.
fn runs(world: &TrialContext, deeds: &ExecutionsByCall) {
    let mut steps: HashMap<&str, usize> = HashMap::new();
    for deed in deeds.values().flatten().filter(|deed| deed.note.contains('/')) {
        *steps.entry(&deed.note).or_default() += 1;
    }
    let repeatable = super::scripted_host::STEPS.iter().position(|tool| *tool == PURE);
    for (step, times) in steps.iter().filter(|(_, times)| **times > 1) {
        let place = step.rsplit('/').next().and_then(|place| place.parse::<usize>().ok());
        if place != repeatable {
            world
                .tally
                .add_finding(Finding::Doubled, &format!("the step {step} ran {times} times"));
        }
    }
    for known in world.known.runs() {
        world.tally.count("runs");
        match (&known.id, known.status.as_deref()) {
            (Some(_), Some("completed")) => {}
            (None, _) => world.tally.add_finding(Finding::Lost, "a run was never begun"),
            (Some(id), status) => {
                let words = format!("the run {id} ended as {status:?}");
                world.tally.add_finding(Finding::Contradiction, &words);
            }
        }
    }
    for row in world.sql("SELECT id, status FROM runs WHERE status <> 'ended'") {
        world.tally.add_finding(Finding::Stuck, &format!("a run is open: {row:?}"));
    }
}

/// One decision for each question, and everybody was told the same.
fn decisions(world: &TrialContext) -> Result<()> {
    let sql = "SELECT id, coalesce(decision::json->'decision'->>'decision', '') FROM approvals";
    let questions = world.known.questions();
    let nothing = super::client_log::KnownQuestion::default();
    for row in world.sql(sql) {
        let [id, decision] = &row[..] else {
            return Err(format!("a question is broken: {row:?}").into());
        };
        world.tally.count("approvals");
        let told = questions.get(id).unwrap_or(&nothing);
        if decision.is_empty() {
            world.tally.add_finding(Finding::Stuck, &format!("{id} was never decided"));
        }
        if told.won.len() > 1 {
            world.tally.add_finding(Finding::Doubled, &format!("{id} was decided: {:?}", told.won));
        }
        for said in told.won.iter().chain(&told.first).filter(|said| *said != decision) {
            let words = format!("{id}: somebody was told {said}, and it is {decision}");
            world.tally.add_finding(Finding::Contradiction, &words);
        }
    }
    for row in world.sql(REFUSED) {
        world
            .tally
            .add_finding(Finding::Contradiction, &format!("{row:?}: refused, and it succeeded"));
    }
    // A daemon that wakes up beyond its lease does not ask about a call that another one has taken
    // over and asked about.
    for row in world.sql("SELECT call FROM approvals GROUP BY call HAVING count(*) > 1") {
        world.tally.add_finding(Finding::Doubled, &format!("{row:?}: asked about twice"));
    }
    Ok(())
}

/// Nothing began while the kill switch was pulled.
fn starts(world: &TrialContext, deeds: &ExecutionsByCall) {
    for (from, until) in world.kill_switch_spans() {
        for (call, deed) in
            deeds.iter().flat_map(|(call, deeds)| deeds.iter().map(move |d| (call, d)))
        {
            let late = deed.at.saturating_sub(from);
            if deed.at > from && deed.at < until {
                world.tally.count("starts_after_the_switch");
                world.tally.longest("latest_start_ms", Duration::from_micros(late as u64));
            }
            if late > EVERYWHERE && deed.at < until {
                let words = format!("{call} began {} ms after the kill switch", late / 1_000);
                world.tally.add_finding(Finding::Late, &words);
            }
        }
        world.tally.set("switch_pulled_ms", ((until - from) / 1_000) as u64);
    }
    let denied = world.sql("SELECT count(*) FROM calls WHERE outcome = 'denied'");
    let denied = denied.first().and_then(|row| row.first()?.parse().ok());
    world.tally.set("denied", denied.unwrap_or_default());
}

/// Every chain of the audit follows from its beginning.
async fn audit(world: &TrialContext) -> Result<()> {
    let stores =
        Stores::connect_unsigned(&world.server.url(DATABASE), SharedOptions::default()).await?;
    for (chain, newest) in stores.audit.chains().await? {
        let rows = stores.audit.records(chain, 0, usize::MAX).await?;
        let mut previous = genesis(chain);
        for (row, place) in rows.iter().zip(1..) {
            previous = chain_hash(&previous, &row.text);
            let is_in_place = (row.chain, row.seq) == (chain, place);
            if !is_in_place || row.hash != canonical_json::hex(&previous) {
                world.tally.add_finding(Finding::Contradiction, &format!("audit {chain}, {place}"));
            }
            let record: Value = serde_json::from_str(&row.text)?;
            if record.is_object() {
                world.tally.count("audit_records");
            }
        }
        if rows.len() as u64 != newest {
            world
                .tally
                .add_finding(Finding::Lost, &format!("audit {chain} ends at {}", rows.len()));
        }
    }
    Ok(())
}
