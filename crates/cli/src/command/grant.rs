//! `toolcrib grant list|show|revoke`: remembered approvals.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{Clock as _, Grant as Row, GrantId, SystemClock};
use toolcrib_ops::grants::{
    self, GrantReply, ListGrantsRequest, PastCalls, RevokeGrantRequest, ShowGrantRequest,
};
use toolcrib_ops::{Resource, id_prefix};

use super::{grant_preview, short_id};
use crate::clap_args::Grant;
use crate::op_context::{self, LOCAL_OWNER};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, terminal, time_format};

pub(crate) fn run(command: &Grant, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        match command {
            Grant::List => list(&stores, json).await,
            Grant::Show { id } => show(&stores, id, json).await,
            Grant::Revoke { id } => revoke(&stores, id, json).await,
        }
    })
}

async fn find_id(stores: &Stores, text: &str) -> Result<GrantId, Failure> {
    let request = ListGrantsRequest { with_past_calls: false };
    let grants = grants::list(&op_context::for_stores(stores), request).await?;
    let ids: Vec<GrantId> = grants.iter().map(|grant| grant.id).collect();
    Ok(id_prefix::resolve(Resource::Grant, text, &ids)?)
}

/// Splits a reply into the grant and the past calls that it would have matched.
fn with_past_calls(reply: &GrantReply) -> (Row, PastCalls) {
    (reply.to_grant(LOCAL_OWNER), reply.past_calls.clone().unwrap_or_default())
}

/// Returns a grant for machines, with members that only this command has.
fn to_json(reply: &GrantReply) -> Value {
    let (grant, past) = with_past_calls(reply);
    let row = GrantReply { past_calls: None, ..reply.clone() };
    json_document::with_members(&row, grant_preview::grant_json(&grant, Some(&past)))
}

async fn list(stores: &Stores, json: bool) -> Result<u8, Failure> {
    let request = ListGrantsRequest { with_past_calls: true };
    let replies = grants::list(&op_context::for_stores(stores), request).await?;
    let grants: Vec<(Row, PastCalls)> = replies.iter().map(with_past_calls).collect();
    if json {
        output::print_json(&replies.iter().map(to_json).collect::<Value>(), true)?;
        return Ok(0);
    }
    if grants.is_empty() {
        output::eprint_line(
            "toolcrib: no remembered approvals; `toolcrib approve always` creates one",
        );
        return Ok(0);
    }
    let ids: Vec<GrantId> = grants.iter().map(|(grant, _)| grant.id).collect();
    let mut text = String::new();
    for (grant, past) in &grants {
        text += &format!(
            "{}  {}\n    {}; {} past {}\n",
            short_id::shorten(&grant.id, &ids),
            grant_preview::grant_text(grant),
            grant_summary(grant),
            past.calls.len(),
            if past.calls.len() == 1 { "call" } else { "calls" }
        );
    }
    output::print_line(&text)?;
    Ok(0)
}

/// Describes the author, the start and the end of a grant.
fn grant_summary(grant: &Row) -> String {
    let until = match grant.expires_at {
        None => String::new(),
        Some(end) if SystemClock.now_ms() >= end => {
            format!(", expired {}", time_format::format_local(end))
        }
        Some(end) => format!(", until {}", time_format::format_local(end)),
    };
    let by = terminal::escape_to_line(&grant.created_by);
    format!("given by {by}, {}{until}", time_format::format_local(grant.created_at))
}

async fn show(stores: &Stores, id: &str, json: bool) -> Result<u8, Failure> {
    let request = ShowGrantRequest { id: find_id(stores, id).await?, with_past_calls: true };
    let reply = grants::show(&op_context::for_stores(stores), request).await?;
    let (grant, past) = with_past_calls(&reply);
    if json {
        output::print_json(&to_json(&reply), true)?;
        return Ok(0);
    }
    let lines = grant_preview::match_lines(&past, SystemClock.now_ms()).join("\n");
    output::print_line(&format!(
        "{}\n{}\n{}\n{lines}\n",
        grant.id,
        grant_preview::grant_text(&grant),
        grant_summary(&grant)
    ))?;
    Ok(0)
}

async fn revoke(stores: &Stores, id: &str, json: bool) -> Result<u8, Failure> {
    let request = RevokeGrantRequest { id: find_id(stores, id).await? };
    let reply = grants::revoke(&op_context::for_stores(stores), request).await?;
    if json {
        output::print_json(&json!({"revoked": reply.revoked, "by": reply.by}), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: revoked: {} requires approval again",
            terminal::escape_to_line(&reply.operation)
        ));
    }
    Ok(0)
}
