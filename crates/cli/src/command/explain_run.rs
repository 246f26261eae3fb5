//! `toolcrib explain RUN`: the state of a run, its calls, and the next step.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{CallFilter, CallRow, RunId, RunStatus, StoredRun};
use toolcrib_ops::calls::{self, CallSummary, HistoryReply};
use toolcrib_ops::runs::{self, RunRow};

use super::lookup;
use crate::json_document::with_members;
use crate::output::{self, Failure};
use crate::{op_context, terminal, time_format};

/// Maximum number of listed calls of a run.
const CALL_LIMIT: usize = 200;

/// Prefix of the ids of runs.
pub(super) const RUN_PREFIX: &str = "run_";

pub(super) async fn run(stores: &Stores, text: &str, json: bool) -> Result<u8, Failure> {
    let ctx = op_context::for_stores(stores);
    // The calls of one response belong to a run that is not stored.
    let id: RunId = match text.trim().parse() {
        Ok(id) => id,
        Err(_) => calls::resolve_run(&ctx, text).await?,
    };
    let stored = stores.runs.run(id).await?;
    let request = CallFilter { run: Some(id), limit: CALL_LIMIT, ..CallFilter::default() };
    let HistoryReply { calls: mut rows, undone, .. } = calls::history(&ctx, request).await?;
    rows.reverse();
    if stored.is_none() && rows.is_empty() {
        return Err(Failure::not_found(format!(
            "there is no run {id}; `toolcrib history` shows the calls of runs"
        )));
    }
    let is_alive = match &stored {
        Some(run) => runs::has_live_worker(stores, run).await.unwrap_or_default(),
        None => false,
    };
    let advice = stored.as_ref().and_then(|run| advice(run, is_alive));
    if json {
        let undone_at = |row: &CallRow| undone.get(&row.facts.call).copied();
        let calls: Vec<CallSummary> =
            rows.iter().map(|row| CallSummary::new(row, undone_at(row))).collect();
        output::print_json(&to_json(id, stored.as_ref(), calls, advice.as_deref()), true)?;
    } else {
        output::print_line(&to_text(id, stored.as_ref(), &rows, advice.as_deref()))?;
    }
    Ok(0)
}

/// Returns advice on the next step; `None` if there is none.
fn advice(run: &StoredRun, is_alive: bool) -> Option<String> {
    let id = run.id;
    match run.status {
        RunStatus::Paused => Some(format!(
            "It waits for a person: see `toolcrib approve list`; `toolcrib resume {id}` resumes it."
        )),
        RunStatus::Running if !is_alive => {
            Some(format!("Its process has ended: `toolcrib resume {id}` resumes it."))
        }
        RunStatus::Running | RunStatus::Ended => None,
    }
}

fn to_json(
    id: RunId,
    run: Option<&StoredRun>,
    calls: Vec<CallSummary>,
    advice: Option<&str>,
) -> Value {
    let mut all = json!({ "run": id, "calls": calls, "advice": advice });
    if let Some(run) = run {
        all = with_members(&RunRow::new(run, true), all);
    }
    all
}

fn to_text(id: RunId, run: Option<&StoredRun>, rows: &[CallRow], advice: Option<&str>) -> String {
    let mut text = format!("run           {id}\n");
    if let Some(run) = run {
        let began = time_format::format_local(run.created_at);
        let changed = time_format::format_local(run.updated_at);
        text += &format!("status        {}, since {changed}\n", run.status.as_str());
        text += &format!("began         {began}\nconversation  {}\n", run.conversation);
        if let Some(agent) = lookup::non_empty(&run.context.agent) {
            text += &format!("agent         {}\n", terminal::escape_to_line(agent));
        }
    }
    text += &format!("calls         {}\n", rows.len());
    for row in rows {
        text += &format!(
            "  {:<10} {}  {}  {}\n",
            lookup::status_word(lookup::call_status(row)),
            lookup::tool_name(row),
            row.facts.call,
            lookup::arguments_summary(row)
        );
    }
    if let Some(advice) = advice {
        text += &format!("\n{advice}\n");
    }
    if !rows.is_empty() {
        text += "\n`toolcrib explain CALL` says more of one.\n";
    }
    text
}
