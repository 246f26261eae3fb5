//! The routes, one group per file.

mod agents;
mod approvals;
mod apps;
mod artifacts;
mod audit;
mod backup;
mod calls;
mod chains;
mod changes;
mod channels;
mod conversations;
mod custom_instructions;
mod docs;
mod documents;
mod drafts;
mod exec;
mod files;
mod goals;
mod grants;
mod health;
mod heartbeat;
mod hooks;
mod kill_switch;
mod lists;
pub(crate) mod mcp_endpoint;
mod mcp_servers;
mod memories;
mod metrics;
mod models;
mod notifications;
mod openapi;
mod page;
mod pairings;
mod rules;
mod runs;
mod secrets;
mod session;
mod settings;
mod skills;
mod sms;
mod status;
mod surroundings;
mod switches;
mod tasks;
mod terminals;
mod tokens;
mod tools;
mod usage;
mod userland;

use crate::api::{Api, Operation};

/// Returns all routes.
pub(crate) fn all() -> Api {
    let mut api = Api::default();
    agents::routes(&mut api);
    approvals::routes(&mut api);
    apps::routes(&mut api);
    artifacts::routes(&mut api);
    audit::routes(&mut api);
    backup::routes(&mut api);
    calls::routes(&mut api);
    chains::routes(&mut api);
    changes::routes(&mut api);
    channels::routes(&mut api);
    sms::routes(&mut api);
    conversations::routes(&mut api);
    docs::routes(&mut api);
    documents::routes(&mut api);
    drafts::routes(&mut api);
    exec::routes(&mut api);
    files::routes(&mut api);
    goals::routes(&mut api);
    grants::routes(&mut api);
    lists::routes(&mut api);
    memories::routes(&mut api);
    tasks::routes(&mut api);
    notifications::routes(&mut api);
    health::routes(&mut api);
    heartbeat::routes(&mut api);
    hooks::routes(&mut api);
    kill_switch::routes(&mut api);
    mcp_endpoint::routes(&mut api);
    mcp_servers::routes(&mut api);
    models::routes(&mut api);
    openapi::routes(&mut api);
    metrics::routes(&mut api);
    page::routes(&mut api);
    pairings::routes(&mut api);
    rules::routes(&mut api);
    runs::routes(&mut api);
    secrets::routes(&mut api);
    session::routes(&mut api);
    settings::routes(&mut api);
    skills::routes(&mut api);
    custom_instructions::routes(&mut api);
    status::routes(&mut api);
    switches::routes(&mut api);
    terminals::routes(&mut api);
    tokens::routes(&mut api);
    tools::routes(&mut api);
    usage::routes(&mut api);
    userland::routes(&mut api);
    api
}

/// Returns all operations, for documents and for tests over every route.
#[must_use]
pub fn operations() -> Vec<Operation> {
    all().finish().1
}
