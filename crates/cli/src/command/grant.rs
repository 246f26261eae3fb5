//! `toolcrib grant list|show|revoke`: remembered approvals.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_app::core::{Clock as _, Grant as Row, GrantId, SystemClock};

use super::short_id::{self, Found};
use super::{past, scope};
use crate::cli::Grant;
use crate::output::{self, Failure};
use crate::{person, terminal, when, world};

pub(crate) fn run(command: &Grant, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        let grants = stores.grants.list(past::OWNER).await.map_err(past::store)?;
        match command {
            Grant::List => list(&stores, &grants, json).await,
            Grant::Show { id } => show(&stores, find(id, &grants)?, json).await,
            Grant::Revoke { id } => revoke(&stores, find(id, &grants)?, json).await,
        }
    })
}

fn find<'a>(text: &str, grants: &'a [Row]) -> Result<&'a Row, Failure> {
    let ids: Vec<GrantId> = grants.iter().map(|grant| grant.id).collect();
    let failure = |found| short_id::failure("remembered approval", text, found, "grant list");
    match short_id::find(text, &ids) {
        Found::One(id) => grants
            .iter()
            .find(|grant| grant.id == id)
            .ok_or_else(|| failure(Found::None(Vec::new()))),
        found => Err(failure(found)),
    }
}

async fn list(stores: &Stores, grants: &[Row], json: bool) -> Result<u8, Failure> {
    if json {
        let mut rows = Vec::new();
        for grant in grants {
            rows.push(scope::machine(grant, Some(&scope::matched(stores, grant).await?)));
        }
        output::document(&Value::Array(rows), true)?;
        return Ok(0);
    }
    if grants.is_empty() {
        output::note("toolcrib: nothing is remembered; `toolcrib approve always` gives one");
        return Ok(0);
    }
    let ids: Vec<GrantId> = grants.iter().map(|grant| grant.id).collect();
    let mut text = String::new();
    for grant in grants {
        let matched = scope::matched(stores, grant).await?;
        text += &format!(
            "{}  {}\n    {}; {} past {}\n",
            short_id::short(&grant.id, &ids),
            scope::words(grant),
            given(grant),
            matched.calls.len(),
            if matched.calls.len() == 1 { "call" } else { "calls" }
        );
    }
    output::data(&text)?;
    Ok(0)
}

/// By whom, since when, until when.
fn given(grant: &Row) -> String {
    let until = match grant.expires_at {
        None => String::new(),
        Some(end) if SystemClock.now_ms() >= end => format!(", expired {}", when::local(end)),
        Some(end) => format!(", until {}", when::local(end)),
    };
    let by = terminal::one_line(&grant.created_by);
    format!("given by {by}, {}{until}", when::local(grant.created_at))
}

async fn show(stores: &Stores, grant: &Row, json: bool) -> Result<u8, Failure> {
    let matched = scope::matched(stores, grant).await?;
    if json {
        output::document(&scope::machine(grant, Some(&matched)), true)?;
        return Ok(0);
    }
    let lines = scope::lines(&matched, SystemClock.now_ms()).join("\n");
    output::data(&format!("{}\n{}\n{}\n{lines}\n", grant.id, scope::words(grant), given(grant)))?;
    Ok(0)
}

async fn revoke(stores: &Stores, grant: &Row, json: bool) -> Result<u8, Failure> {
    let (by, now) = (person::name(), SystemClock.now_ms());
    let revoked = stores.grants.revoke(grant.id, &by, now).await.map_err(past::store)?;
    if !revoked {
        return Err(Failure::not_found(format!(
            "{} was revoked just now by somebody else",
            grant.id
        )));
    }
    if json {
        output::document(&json!({"revoked": grant.id, "by": by}), true)?;
    } else {
        output::note(&format!(
            "toolcrib: revoked: {} is asked about again",
            terminal::one_line(&grant.operation)
        ));
    }
    Ok(0)
}
