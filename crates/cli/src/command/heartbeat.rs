//! `toolcrib heartbeat`: its schedule, its prompt, and its results.

use serde_json::json;
use toolcrib_ops::heartbeat::{self, HeartbeatReply, TellHeartbeatRequest};

use crate::clap_args::{Heartbeat, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

pub(crate) fn run(command: Heartbeat, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        let is_prompt = matches!(command, Heartbeat::Prompt);
        let reply = match command {
            Heartbeat::Run => heartbeat::run(&ctx).await?,
            Heartbeat::Show | Heartbeat::Prompt => heartbeat::show(&ctx).await?,
            Heartbeat::Tell { text, from, title, kind } => {
                let request = TellHeartbeatRequest { kind, from, title, text };
                let told = heartbeat::tell(&ctx, request).await?;
                if json {
                    output::print_json(&json!(told), true)?;
                } else {
                    output::eprint_line("toolcrib: the next heartbeat looks at it");
                }
                return Ok(0);
            }
        };
        if json {
            output::print_json(&json!(reply), true)?;
        } else if is_prompt {
            let prompt = reply.prompt.unwrap_or_default();
            output::print_line(&terminal::escape_controls(&prompt))?;
        } else {
            output::print_line(&text(&reply))?;
        }
        Ok(0)
    })
}

fn text(reply: &HeartbeatReply) -> String {
    let HeartbeatReply { interval_minutes, active_start, active_end, .. } = reply;
    let state = if reply.enabled { "on" } else { "off" };
    let mut text = format!(
        "The heartbeat is {state}: every {interval_minutes} min from {active_start}:00 to {active_end}:00\n"
    );
    if let Some(model) = &reply.model {
        text += &format!("model: {}\n", terminal::escape_to_line(model));
    }
    match &reply.next {
        _ if reply.running => text += "it is running now\n",
        Some(next) => text += &format!("next: {next}\n"),
        None => text += "no daemon has scheduled it yet\n",
    }
    for one in &reply.history {
        text += &format!(
            "\n{}  {}\n    {}\n",
            if one.ok { "OK  " } else { "FAIL" },
            time_format::format_local(one.started_at),
            terminal::escape_to_line(one.result.as_deref().unwrap_or_default()),
        );
        if let Some(conversation) = &one.conversation {
            text += &format!("    conversation: {conversation}\n");
        }
    }
    text
}
