//! `toolcrib node`: offers tools of this machine to a daemon on another one.

use serde_json::json;
use tokio::net::TcpListener;
use toolcrib_app::{Preset, StateChanges};
use toolcrib_core::CancellationToken;
use toolcrib_devices::NodeClaim;
use toolcrib_ops::OpError;
use toolcrib_server::{Node as NodeServer, NodeTools};

use crate::clap_args::{Node, WorkspaceArgs};
use crate::config::OnAsk;
use crate::output::{self, Failure};
use crate::{bootstrap, shutdown_signal};

/// Maximum characters of a name.
const NAME_CHARS: usize = 24;

pub(super) fn run(command: &Node, json: bool) -> Result<u8, Failure> {
    let runtime = toolcrib_server::runtime()
        .map_err(|error| Failure::run(format!("the runtime cannot start: {error}")))?;
    runtime.block_on(serve(command, json))
}

async fn serve(command: &Node, json: bool) -> Result<u8, Failure> {
    // The daemon has asked its owner before; nobody can be asked at this machine.
    let policy = command.workspace_args.policy.unwrap_or(Preset::Auto);
    let world = WorkspaceArgs { policy: Some(policy), ..command.workspace_args.clone() };
    let toolcrib = bootstrap::build_for_calls(&world, Some(OnAsk::Deny)).await?;
    let _watching = toolcrib.watch_switches(StateChanges::default(), |_| ());
    let tools = NodeTools::choose(toolcrib.clone(), &command.offer)?;
    let listener = TcpListener::bind(command.listen).await.map_err(|error| {
        Failure::run(format!("{} cannot be listened on: {error}", command.listen))
    })?;
    let listens = listener.local_addr()?;
    // No tool may reach the node that runs it.
    toolcrib.deny_port(listens.port());
    let name = command.name.clone().unwrap_or_else(machine_name);
    let pairing = toolcrib.node_pairing()?;
    let claim = claim(command, &name, &format!("http://{listens}"), &tools);
    let fingerprint = match claim {
        Some(claim) => Some(pairing.claim(claim).await.map_err(OpError::from)?),
        None => None,
    };
    let Some(requests) = pairing.requests().await.map_err(OpError::from)? else {
        return Err(Failure::usage(
            "this machine is not paired; create a code with `toolcrib app pair` at the daemon, and pass --pair CODE --daemon URL",
        ));
    };
    print_start(&name, &listens.to_string(), fingerprint.as_deref(), json)?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        shutdown_signal::asked_to_stop().await;
        told.cancel();
    });
    NodeServer { name, tools, requests }.serve(listener, stop).await;
    bootstrap::flush_hooks(&toolcrib).await;
    Ok(0)
}

/// Returns what to claim; `None` without a code.
fn claim(command: &Node, name: &str, listens: &str, tools: &NodeTools) -> Option<NodeClaim> {
    Some(NodeClaim {
        code: command.pair.clone()?,
        daemon: command.daemon.clone()?,
        name: name.to_owned(),
        address: command.address.clone().unwrap_or_else(|| listens.to_owned()),
        capabilities: tools.capabilities(),
    })
}

fn print_start(
    name: &str,
    listens: &str,
    fingerprint: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    if json {
        let document = json!({"node": name, "listens": listens, "fingerprint": fingerprint});
        output::print_json(&document, true)?;
        return Ok(());
    }
    if let Some(fingerprint) = fingerprint {
        output::print_line(&format!("Fingerprint: {fingerprint}"))?;
        output::eprint_line(
            "toolcrib: confirm it at the daemon with `toolcrib app confirm`, if it shows the same fingerprint",
        );
    }
    output::eprint_line(&format!("toolcrib: the node {name} listens on http://{listens}"));
    Ok(())
}

/// Returns the name of this machine in the form of a name of an app.
fn machine_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    let plain: String = host
        .split('.')
        .next()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(NAME_CHARS)
        .collect();
    // A name has only single `_`, because `__` ends the name of an app in names of tools.
    let parts: Vec<&str> = plain.split('_').filter(|part| !part.is_empty()).collect();
    match parts.first().and_then(|first| first.chars().next()) {
        Some(first) if first.is_ascii_lowercase() => parts.join("_"),
        // A name begins with a letter.
        Some(_) => format!("n{}", parts.join("_")).chars().take(NAME_CHARS).collect(),
        None => "node".to_owned(),
    }
}
