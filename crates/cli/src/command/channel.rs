//! `toolcrib channel`: chat channels on which the assistant answers.

use serde::Serialize;
use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_channels::account::NewChannel;
use toolcrib_channels::{ChannelError, ChannelKind};
use toolcrib_core::display_text::escape_to_line;
use toolcrib_ops::channels::{
    self, AddChannelRequest, AllowPersonRequest, ChannelDetails, ChannelLogLine, ChannelReply,
    SetChannelRequest,
};

use super::library_snapshot;
use super::secret::read_token;
use crate::clap_args::{AddChannel, Channel, SetChannel, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, time_format};

pub(crate) fn run(command: Channel, json: bool) -> Result<u8, Failure> {
    // Read the token before the runtime starts, because reading from the terminal uses a separate
    // runtime.
    let token = match &command {
        Channel::Add(new) => read_token(&new.kind)?,
        _ => String::new(),
    };
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Channel::Add(new) => {
                let request = AddChannelRequest { channel: account(new)?, token };
                let added = channels::add(&ctx, request).await?;
                print_channel(&added, "works and is saved", json)
            }
            Channel::List => print_list(&channels::list(&ctx)?, json),
            Channel::Show { channel } => {
                let details = channels::show(&ctx, &channel).await?;
                if json { print(&details) } else { print_details(&details) }
            }
            Channel::Test { channel } => {
                print_channel(&channels::test(&ctx, &channel).await?, "works", json)
            }
            Channel::Set(SetChannel { channel, enabled, may_approve, agent }) => {
                let request = SetChannelRequest { channel, enabled, may_approve, agent };
                print_channel(&channels::set(&ctx, request).await?, "is changed", json)
            }
            Channel::Allow { channel, user, owner, remove } => {
                let request = AllowPersonRequest { channel, user, owner, remove };
                let changed = channels::allow(&ctx, request).await?;
                let what = format!("has {} people on its list", changed.people);
                print_channel(&changed, &what, json)
            }
            Channel::Log { channel } => {
                let lines = channels::log(&ctx, &channel).await?;
                if json { print(&lines) } else { print_log(&lines) }
            }
            Channel::Remove { channel } => {
                print_channel(&channels::remove(&ctx, &channel).await?, "is removed", json)
            }
        }
    })
}

fn account(new: AddChannel) -> Result<NewChannel, Failure> {
    let AddChannel { kind, id, base_url, allow, owner, agent, may_approve } = new;
    let kind: Result<ChannelKind, ChannelError> = kind.parse();
    let kind = kind.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(NewChannel { kind, id, base_url, allow, owner, agent, may_approve })
}

fn print(value: &impl Serialize) -> Result<u8, Failure> {
    output::print_json(&json!(value), true)?;
    Ok(0)
}

fn print_channel(channel: &ChannelReply, what: &str, json: bool) -> Result<u8, Failure> {
    if json {
        return print(channel);
    }
    let ChannelReply { channel: name, kind, identity, base_url, .. } = channel;
    let identity = escape_to_line(identity);
    output::print_line(&format!("{name} ({kind}, {identity}) {what}: {base_url}"))?;
    Ok(0)
}

fn print_list(all: &[ChannelReply], json: bool) -> Result<u8, Failure> {
    if json {
        return print(&all);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no channels; `toolcrib channel add telegram` adds one");
        return Ok(0);
    }
    let head = ["CHANNEL", "SERVICE", "IDENTITY", "PEOPLE", "APPROVE", "STATE"]
        .map(str::to_owned)
        .to_vec();
    let row = |one: &ChannelReply| {
        vec![
            one.channel.clone(),
            one.kind.clone(),
            escape_to_line(&one.identity),
            one.people.to_string(),
            if one.may_approve { "yes" } else { "no" }.to_owned(),
            if one.enabled { "enabled" } else { "disabled" }.to_owned(),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn print_details(details: &ChannelDetails) -> Result<u8, Failure> {
    let channel = &details.channel;
    print_channel(channel, if channel.enabled { "is enabled" } else { "is disabled" }, false)?;
    if let Some(problem) = &details.problem {
        output::print_line(&format!("  problem: {}", escape_to_line(problem)))?;
    }
    for person in &details.allowed {
        let owner = if person.owner { ", owner" } else { "" };
        let waiting = match person.waiting {
            0 => String::new(),
            waiting => format!(", {waiting} waiting"),
        };
        let name = escape_to_line(&person.name);
        output::print_line(&format!("  allowed: {} {name}{owner}{waiting}", person.user))?;
    }
    for one in &details.asked_to_talk {
        let (user, name) = (&one.user, escape_to_line(&one.name));
        output::print_line(&format!(
            "  asked to talk: {user} {name}; `toolcrib channel allow {} {user}` allows it",
            channel.channel
        ))?;
    }
    Ok(0)
}

fn print_log(lines: &[ChannelLogLine]) -> Result<u8, Failure> {
    for ChannelLogLine { at, user, event } in lines {
        let (at, event) = (time_format::format_local(*at), escape_to_line(event));
        output::print_line(&format!("{at}  {user}  {event}"))?;
    }
    Ok(0)
}
