//! `toolcrib history`: the calls there were, the newest first.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_app::core::{CallFilter, CallRow, near};

use super::past::{self, OWNER, store};
use super::shelf::{Shelf, table};
use crate::cli::{History, Places, World};
use crate::output::{self, Failure};
use crate::{terminal, when, world};

/// Calls that are looked through for the names of agents.
const LOOKED_AT: usize = 1_000;

pub(crate) fn run(command: &History, json: bool) -> Result<u8, Failure> {
    // Agents are files.
    let agents =
        command.agent.as_ref().map(|_| Shelf::open(&Places::default(), json)).transpose()?;
    let agents = agents.iter().flat_map(|shelf| &shelf.library.agents);
    let agents: Vec<String> = agents.map(|agent| agent.name.clone()).collect();
    world::block_on(async {
        let stores = world::stores()?;
        let filter = filter(&stores, command, agents, json).await?;
        let limit = filter.limit;
        // One more tells whether there are more.
        let mut rows =
            stores.history.calls(CallFilter { limit: limit + 1, ..filter }).await.map_err(store)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        if json {
            output::document(&rows.iter().map(past::machine).collect::<Value>(), true)?;
        } else if !rows.is_empty() {
            output::data(&people(&rows))?;
        }
        beside(&rows, more, json);
        Ok(0)
    })
}

async fn filter(
    stores: &Stores,
    command: &History,
    agents: Vec<String>,
    json: bool,
) -> Result<CallFilter, Failure> {
    if let (Some(since), Some(until)) = (command.since, command.until)
        && since >= until
    {
        return Err(Failure::usage("--since is not before --until, so no call can fit"));
    }
    let mut filter = CallFilter {
        owner: OWNER.to_owned(),
        status: command.status,
        since: command.since,
        until: command.until,
        limit: usize::from(command.limit),
        ..CallFilter::default()
    };
    if let Some(name) = &command.tool {
        let toolcrib = world::look(&World::default(), json).await?;
        filter.tool = Some(past::tool(stores, &toolcrib, name).await?);
    }
    if let Some(name) = &command.agent {
        filter.agent = Some(agent(stores, name, agents).await?);
    }
    if let Some(id) = &command.conversation {
        filter.conversation = Some(past::conversation(stores, id).await?);
    }
    if let Some(id) = &command.run {
        filter.run = Some(past::run(stores, id).await?);
    }
    if let Some(id) = &command.before {
        filter.before = Some(past::call(stores, id).await?);
    }
    Ok(filter)
}

/// An agent that there is, or that called something.
async fn agent(stores: &Stores, asked: &str, mut names: Vec<String>) -> Result<String, Failure> {
    if names.iter().any(|name| name == asked) {
        return Ok(asked.to_owned());
    }
    let of_agent = CallFilter {
        owner: OWNER.to_owned(),
        agent: Some(asked.to_owned()),
        limit: 1,
        ..CallFilter::default()
    };
    if !stores.history.calls(of_agent).await.map_err(store)?.is_empty() {
        return Ok(asked.to_owned());
    }
    let newest = CallFilter { owner: OWNER.to_owned(), limit: LOOKED_AT, ..CallFilter::default() };
    let rows = stores.history.calls(newest).await.map_err(store)?;
    names.extend(rows.iter().map(|row| row.facts.context.agent.clone()));
    names.retain(|name| !name.is_empty());
    let near = near::nearest(asked, names.iter().map(String::as_str));
    Err(past::unknown("agent", asked, &near, "`toolcrib agent list` shows those that there are"))
}

fn people(rows: &[CallRow]) -> String {
    let head = ["TIME", "STATUS", "TOOL", "TOOK", "AGENT", "ABOUT", "CALL"].map(str::to_owned);
    let mut lines = vec![head.to_vec()];
    lines.extend(rows.iter().map(|row| {
        let ran = row.end.as_ref().filter(|end| end.attempts > 0);
        vec![
            when::local(row.facts.received_at),
            past::status_word(past::status(row)).to_owned(),
            past::tool_name(row),
            ran.map_or_else(|| "-".to_owned(), |end| when::took(end.run_nanos)),
            past::some(&row.facts.context.agent).map_or_else(|| "-".to_owned(), terminal::one_line),
            past::about(row),
            row.facts.call.to_string(),
        ]
    }));
    table(&lines)
}

fn beside(rows: &[CallRow], more: bool, json: bool) {
    match rows.last() {
        None => output::remark("no call fits", json),
        Some(last) if more => {
            output::remark(&format!("there are older calls: --before {}", last.facts.call), json);
        }
        Some(_) => {}
    }
}
