//! `toolcrib history`: past calls, newest first.

use serde_json::json;
use toolcrib_core::{CallFilter, CallRow};
use toolcrib_ops::StoreContext;
use toolcrib_ops::calls::{self, CallSummary, HistoryReply};

use super::library_snapshot::{LibrarySnapshot, table};
use super::lookup;
use crate::clap_args::{History, LibraryArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

pub(crate) fn run(command: &History, json: bool) -> Result<u8, Failure> {
    // Agents are files, so the library is loaded.
    let agents = command
        .agent
        .as_ref()
        .map(|_| LibrarySnapshot::load(&LibraryArgs::default(), json))
        .transpose()?;
    let agents = agents.iter().flat_map(|snapshot| &snapshot.library().agents);
    let agents: Vec<String> = agents.map(|agent| agent.name.clone()).collect();
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let ctx = op_context::for_stores(&stores);
        let request = parse(&ctx, command, &agents, json).await?;
        let reply = calls::history(&ctx, request).await?;
        let rows = &reply.calls;
        if json {
            let undone_at = |row: &CallRow| reply.undone.get(&row.facts.call).copied();
            let calls = rows.iter().map(|row| CallSummary::new(row, undone_at(row)));
            output::print_json(&json!(calls.collect::<Vec<_>>()), true)?;
        } else if !rows.is_empty() {
            output::print_line(&to_text(&reply))?;
        }
        print_notes(rows, reply.more, json);
        Ok(0)
    })
}

async fn parse(
    ctx: &StoreContext<'_>,
    command: &History,
    agents: &[String],
    json: bool,
) -> Result<CallFilter, Failure> {
    if let (Some(since), Some(until)) = (command.since, command.until)
        && since >= until
    {
        return Err(Failure::usage("--since must be before --until"));
    }
    let mut request = CallFilter {
        status: command.status,
        since: command.since,
        until: command.until,
        limit: usize::from(command.limit),
        ..CallFilter::default()
    };
    if let Some(name) = &command.tool {
        let toolcrib = bootstrap::inspect(&WorkspaceArgs::default(), json).await?;
        request.tool = Some(calls::resolve_tool(ctx, &toolcrib, name).await?);
    }
    if let Some(name) = &command.agent {
        request.agent = Some(calls::resolve_agent(ctx, agents, name).await?);
    }
    if let Some(id) = &command.conversation {
        request.conversation = Some(calls::resolve_conversation(ctx, id).await?.to_string());
    }
    if let Some(id) = &command.run {
        // The calls of a response belong to a run that is not stored, so a complete id is not
        // looked up.
        request.run = Some(match id.trim().parse() {
            Ok(id) => id,
            Err(_) => calls::resolve_run(ctx, id).await?,
        });
    }
    if let Some(id) = &command.before {
        request.before = Some(calls::resolve_call(ctx, id).await?);
    }
    Ok(request)
}

fn to_text(reply: &HistoryReply) -> String {
    let head = ["TIME", "STATUS", "TOOL", "TOOK", "AGENT", "ABOUT", "CALL"].map(str::to_owned);
    let mut lines = vec![head.to_vec()];
    lines.extend(reply.calls.iter().map(|row| {
        let status = lookup::status_word(lookup::call_status(row));
        let is_undone = reply.undone.contains_key(&row.facts.call);
        let ran = row.end.as_ref().filter(|end| end.attempts > 0);
        vec![
            time_format::format_local(row.facts.received_at),
            if is_undone { format!("{status}, undone") } else { status.to_owned() },
            lookup::tool_name(row),
            ran.map_or_else(|| "-".to_owned(), |end| time_format::format_elapsed(end.run_nanos)),
            lookup::non_empty(&row.facts.context.agent)
                .map_or_else(|| "-".to_owned(), terminal::escape_to_line),
            lookup::arguments_summary(row),
            row.facts.call.to_string(),
        ]
    }));
    table(&lines)
}

fn print_notes(rows: &[CallRow], more: bool, json: bool) {
    match rows.last() {
        None => output::warn("no call matches", json),
        Some(last) if more => {
            output::warn(&format!("more calls: --before {}", last.facts.call), json);
        }
        Some(_) => {}
    }
}
