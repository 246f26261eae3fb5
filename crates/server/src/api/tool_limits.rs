//! What a token that is limited to some tools may do at each route: one table, so that the answer
//! for all routes can be read in one place. A route without a row is refused.

use axum::http::Method;

use self::ToolLimit::{Checked, Free, Refused};

/// What a token that is limited to some tools may do with an operation. A token without a limit
/// may use every operation of its roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLimit {
    /// Nothing, because the operation is about more than the tools of the limit; the text says why.
    Refused(&'static str),
    /// What its roles allow for its tools: the handler compares each tool, call, question, grant
    /// or stored result with the limit.
    Checked,
    /// What its roles allow; the text says why the limit does not matter.
    Free(&'static str),
}

/// The limit of an operation.
pub(super) fn tool_limit(method: &Method, path: &str) -> ToolLimit {
    let row = TABLE.iter().find(|(m, p, _)| (m, *p) == (method, path));
    row.map_or(Refused("it may be about every tool"), |(_, _, limit)| *limit)
}

/// Every operation by method and path.
const TABLE: &[(Method, &str, ToolLimit)] = &[
    (Method::GET, "/healthz", Free("the daemon's health")),
    (Method::GET, "/readyz", Free("the daemon's health")),
    (Method::GET, "/openapi.json", Free("documentation")),
    (Method::GET, "/docs", Free("documentation")),
    (Method::GET, "/", Free("the files of the page")),
    (Method::GET, "/favicon.svg", Free("the files of the page")),
    (Method::GET, "/manifest.webmanifest", Free("the files of the page")),
    (Method::GET, "/assets/{file}", Free("the files of the page")),
    (Method::GET, "/status", Free("counters of the daemon")),
    (Method::GET, "/metrics", Free("counters of the daemon")),
    (Method::GET, "/usage", Free("sums without arguments and results")),
    (Method::GET, "/session", Free("the caller's own session")),
    (Method::POST, "/session", Free("the caller's own session")),
    (Method::DELETE, "/session", Free("the caller's own session")),
    (Method::POST, "/session/code", Free("a session of the caller, with the caller's limit")),
    (Method::POST, "/session/sign-in", Free("a session of the code's maker, with that limit")),
    (Method::GET, "/tools", Free("definitions, without calls")),
    (Method::GET, "/tools/{name}", Free("definitions, without calls")),
    (Method::GET, "/tools/{name}/metrics", Free("counters of a tool, without calls")),
    (Method::GET, "/tools/{name}/why", Free("what policy says; nothing runs")),
    (Method::POST, "/tools/{name}/test", Checked),
    (Method::PUT, "/tools/{name}/config/{key}", Checked),
    (Method::DELETE, "/tools/{name}/config/{key}", Checked),
    (Method::GET, "/mcp/servers", Free("names and states of servers")),
    (Method::GET, "/mcp/servers/{name}", Refused("it is about every tool of a server")),
    (Method::PUT, "/mcp/servers/{name}", Refused("it is about every tool of a server")),
    (Method::DELETE, "/mcp/servers/{name}", Refused("it is about every tool of a server")),
    (Method::POST, "/mcp/servers/{name}/connect", Refused("it is about every tool of a server")),
    (Method::POST, "/mcp/servers/{name}/accept", Refused("it is about every tool of a server")),
    (Method::POST, "/mcp/servers/{name}/login", Refused("it is about every tool of a server")),
    (Method::GET, "/mcp/servers/{name}/login", Refused("it is about every tool of a server")),
    (Method::GET, "/oauth/callback", Free("the browser that comes back from a login")),
    (Method::POST, "/mcp/import", Refused("it is about every tool of a server")),
    (Method::GET, "/userland", Free("the state of the Linux userland")),
    (Method::POST, "/userland", Refused("programs of every tool run in it")),
    (Method::DELETE, "/userland", Refused("programs of every tool run in it")),
    (Method::GET, "/userland/work", Free("the state of the Linux userland")),
    (Method::GET, "/userland/packages", Free("names of packages")),
    (Method::POST, "/userland/packages", Refused("programs of every tool run in it")),
    (Method::GET, "/models", Free("names of models")),
    (Method::GET, "/models/found", Free("names of models")),
    (Method::POST, "/models/test", Free("a question to a model, without tools")),
    (Method::GET, "/terminals", Refused("a terminal runs every program")),
    (Method::POST, "/terminals", Refused("a terminal runs every program")),
    (Method::GET, "/terminals/{terminal}/output", Refused("a terminal runs every program")),
    (Method::POST, "/terminals/{terminal}/input", Refused("a terminal runs every program")),
    (Method::PUT, "/terminals/{terminal}/size", Refused("a terminal runs every program")),
    (Method::DELETE, "/terminals/{terminal}", Refused("a terminal runs every program")),
    (
        Method::POST,
        "/conversations/{conversation}/branch",
        Refused("a conversation has the calls of every tool"),
    ),
    (Method::GET, "/skills", Free("texts of the library")),
    (Method::GET, "/skills/{name}", Free("texts of the library")),
    (Method::POST, "/skills/{name}/validate", Free("checks a text; nothing runs")),
    (Method::GET, "/kits", Free("texts of the library")),
    (Method::GET, "/kits/{name}", Free("texts of the library")),
    (Method::GET, "/library/problems", Free("texts of the library")),
    (Method::GET, "/agents", Free("texts of the library")),
    (Method::GET, "/agents/{name}", Free("texts of the library")),
    (Method::POST, "/agents", Refused("it changes which tools an agent has")),
    (Method::PUT, "/agents/{name}", Refused("it changes which tools an agent has")),
    (Method::DELETE, "/agents/{name}", Refused("it changes which tools an agent has")),
    (Method::GET, "/chains", Free("texts of saved scripts")),
    (Method::GET, "/chains/{name}", Free("texts of saved scripts")),
    (Method::PUT, "/chains/{name}", Refused("it changes a script that may call every tool")),
    (Method::DELETE, "/chains/{name}", Refused("it changes a script that may call every tool")),
    (Method::POST, "/calls", Checked),
    (Method::POST, "/calls/batch", Checked),
    (Method::GET, "/calls", Checked),
    (Method::GET, "/calls/{id}", Checked),
    (Method::GET, "/calls/{id}/explain", Checked),
    (Method::POST, "/calls/{id}/again", Checked),
    (Method::POST, "/calls/{id}/cancel", Checked),
    (Method::GET, "/calls/{id}/page", Checked),
    (Method::POST, "/calls/{id}/page/calls", Checked),
    (Method::GET, "/calls/{id}/page/resource", Checked),
    (Method::POST, "/exec", Checked),
    (Method::GET, "/files", Checked),
    (Method::GET, "/files/list", Checked),
    (Method::PUT, "/files", Checked),
    (Method::DELETE, "/files", Checked),
    (Method::GET, "/artifacts", Checked),
    (Method::GET, "/artifacts/{ref}", Checked),
    (Method::GET, "/artifacts/{ref}/page", Checked),
    (Method::GET, "/artifacts/{ref}/content", Checked),
    (Method::DELETE, "/artifacts/{ref}", Checked),
    (Method::GET, "/approvals", Checked),
    (Method::GET, "/approvals/hasty", Refused("it counts approvals of all tools")),
    (Method::GET, "/approvals/{approval}", Checked),
    (Method::POST, "/approvals/{approval}", Checked),
    (Method::POST, "/approvals/{approval}/preview", Checked),
    (Method::GET, "/grants", Checked),
    (Method::GET, "/grants/{id}", Checked),
    (Method::DELETE, "/grants/{id}", Checked),
    (Method::GET, "/documents", Refused("documents are shown to every tool's runs")),
    (Method::POST, "/documents", Refused("documents are shown to every tool's runs")),
    (Method::GET, "/documents/search", Refused("documents are shown to every tool's runs")),
    (Method::GET, "/documents/{document}", Refused("documents are shown to every tool's runs")),
    (Method::DELETE, "/documents/{document}", Refused("documents are shown to every tool's runs")),
    (
        Method::POST,
        "/documents/{document}/restore",
        Refused("documents are shown to every tool's runs"),
    ),
    (Method::GET, "/soul", Refused("the text is in the prompt of every run")),
    (Method::PUT, "/soul", Refused("the text is in the prompt of every run")),
    (Method::DELETE, "/soul", Refused("the text is in the prompt of every run")),
    (Method::GET, "/soul/history", Refused("the text is in the prompt of every run")),
    (Method::POST, "/soul/undo", Refused("the text is in the prompt of every run")),
    (Method::GET, "/drafts", Refused("a draft leaves in the name of a person")),
    (Method::GET, "/drafts/{draft}", Refused("a draft leaves in the name of a person")),
    (Method::PUT, "/drafts/{draft}", Refused("a draft leaves in the name of a person")),
    (Method::POST, "/drafts/{draft}/send", Refused("a draft leaves in the name of a person")),
    (Method::DELETE, "/drafts/{draft}", Refused("a draft leaves in the name of a person")),
    (Method::GET, "/goals", Refused("a goal may call every tool of its agent")),
    (Method::POST, "/goals", Refused("a goal may call every tool of its agent")),
    (Method::GET, "/goals/{goal}", Refused("a goal may call every tool of its agent")),
    (Method::DELETE, "/goals/{goal}", Refused("a goal may call every tool of its agent")),
    (Method::POST, "/goals/{goal}/resume", Refused("a goal may call every tool of its agent")),
    (Method::GET, "/lists", Refused("lists are shown to every tool's runs")),
    (Method::GET, "/lists/{name}", Refused("lists are shown to every tool's runs")),
    (Method::POST, "/lists/{name}", Refused("lists are shown to every tool's runs")),
    (Method::DELETE, "/lists/{name}", Refused("lists are shown to every tool's runs")),
    (Method::GET, "/lists/{name}/history", Refused("lists are shown to every tool's runs")),
    (Method::POST, "/list/undo", Refused("lists are shown to every tool's runs")),
    (Method::GET, "/memories", Refused("memories are read by every tool's runs")),
    (Method::GET, "/memories/{key}", Refused("memories are read by every tool's runs")),
    (Method::PUT, "/memories/{key}", Refused("memories are read by every tool's runs")),
    (Method::DELETE, "/memories/{key}", Refused("memories are read by every tool's runs")),
    (Method::POST, "/memory/undo", Refused("memories are read by every tool's runs")),
    (Method::GET, "/memory/export", Refused("memories are read by every tool's runs")),
    (Method::POST, "/memory/import", Refused("memories are read by every tool's runs")),
    (Method::GET, "/tasks", Refused("a task may call every tool of its agent")),
    (Method::POST, "/tasks", Refused("a task may call every tool of its agent")),
    (Method::GET, "/tasks/{task}", Refused("a task may call every tool of its agent")),
    (Method::DELETE, "/tasks/{task}", Refused("a task may call every tool of its agent")),
    (Method::POST, "/tasks/{task}/pause", Refused("a task may call every tool of its agent")),
    (Method::POST, "/tasks/{task}/resume", Refused("a task may call every tool of its agent")),
    (Method::POST, "/tasks/{task}/run", Refused("a task may call every tool of its agent")),
    (Method::POST, "/tasks/{task}/dismiss", Refused("a task may call every tool of its agent")),
    (Method::GET, "/heartbeat", Refused("the heartbeat may call every tool of its agent")),
    (Method::POST, "/heartbeat/run", Refused("the heartbeat may call every tool of its agent")),
    (Method::POST, "/hooks/{hook}", Free("the signature of the request decides")),
    (Method::GET, "/notifications", Refused("notifications are sent by every tool's runs")),
    (Method::POST, "/notifications", Refused("notifications are sent by every tool's runs")),
    (
        Method::POST,
        "/notifications/{notification}/dismiss",
        Refused("notifications are sent by every tool's runs"),
    ),
    (Method::GET, "/switches", Free("names and states")),
    (Method::PUT, "/switches/{name}", Checked),
    (Method::DELETE, "/switches/{name}", Checked),
    (Method::GET, "/kill-switch", Free("a state")),
    (Method::PUT, "/kill-switch", Free("stopping is open to every operator")),
    (Method::DELETE, "/kill-switch", Refused("it lets every tool run again")),
    (Method::GET, "/rules", Free("rules are no secret of a tool")),
    (Method::GET, "/rules/own", Free("rules are no secret of a tool")),
    (Method::POST, "/rules/own", Refused("a rule may allow any tool")),
    (Method::DELETE, "/rules/own/{number}", Refused("a rule may be about any tool")),
    (Method::POST, "/rules/explain", Free("what policy says; nothing runs")),
    (Method::POST, "/rules/replay", Refused("it shows calls of all tools")),
    (Method::GET, "/rules/suggestions", Refused("it shows calls of all tools")),
    (Method::POST, "/rules/lint", Free("checks a text; nothing runs")),
    (Method::GET, "/changes", Refused("a change may be of another tool")),
    (Method::POST, "/changes/undo", Refused("a change may be of another tool")),
    (Method::POST, "/changes/preview", Refused("a change may be of another tool")),
    (Method::POST, "/changes/redo", Refused("a change may be of another tool")),
    (Method::GET, "/conversations", Free("heads, without messages")),
    (Method::GET, "/conversations/search", Refused("messages hold results of every tool")),
    (Method::GET, "/conversations/{conversation}", Free("heads, without messages")),
    (
        Method::GET,
        "/conversations/{conversation}/messages",
        Refused("messages hold results of every tool"),
    ),
    (
        Method::PUT,
        "/conversations/{conversation}/title",
        Refused("messages hold results of every tool"),
    ),
    (
        Method::DELETE,
        "/conversations/{conversation}",
        Refused("messages hold results of every tool"),
    ),
    (Method::POST, "/runs", Checked),
    (Method::GET, "/runs", Free("heads, without messages")),
    (Method::GET, "/runs/{run}", Checked),
    (Method::GET, "/runs/{run}/events", Checked),
    (Method::POST, "/runs/{run}/stop", Checked),
    (Method::POST, "/runs/{run}/steer", Checked),
    (Method::POST, "/runs/{run}/resume", Checked),
    (Method::GET, "/events", Free("ids, names and states, without arguments and results")),
    (Method::POST, "/mcp", Checked),
    (Method::GET, "/mcp", Checked),
    (Method::DELETE, "/mcp", Checked),
    (Method::GET, "/audit", Refused("records are about every tool")),
    (Method::POST, "/audit/verify", Free("it reads hashes and says whether they hold")),
    (Method::POST, "/audit/checkpoint", Free("it signs the newest record")),
    (Method::GET, "/audit/export", Refused("records are about every tool")),
    (Method::GET, "/audit/bundle", Refused("records are about every tool")),
    (Method::GET, "/tokens", Free("rows without the tokens themselves")),
    (Method::POST, "/tokens", Checked),
    (Method::GET, "/tokens/{id}", Free("rows without the tokens themselves")),
    (Method::DELETE, "/tokens/{id}", Checked),
    (Method::GET, "/secrets", Free("names without values")),
    (Method::PUT, "/secrets/{name}", Refused("a secret may be used by every tool")),
    (Method::DELETE, "/secrets/{name}", Refused("a secret may be used by every tool")),
    (Method::GET, "/settings", Free("values without secrets")),
    (Method::PUT, "/settings/{key}", Refused("a setting is in force for every tool")),
    (Method::DELETE, "/settings/{key}", Refused("a setting is in force for every tool")),
    (Method::POST, "/settings/reload", Refused("a setting is in force for every tool")),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Found in review: a token's tools limited its calls only. A new route needs a decision.
    #[test]
    fn every_route_has_one_row_in_the_table_of_tool_limits() {
        let mut missing = crate::operations();
        missing.retain(|one| !TABLE.iter().any(|(m, p, _)| (m, *p) == (&one.method, one.path)));
        let missing: Vec<_> = missing.iter().map(|one| (&one.method, one.path)).collect();
        assert!(missing.is_empty(), "without a row: {missing:?}");
        assert_eq!(TABLE.len(), crate::operations().len(), "a row has no route, or two rows one");
        for (method, path, limit) in TABLE {
            if let Free(why) | Refused(why) = limit {
                assert!(!why.is_empty(), "{method} {path} needs a reason");
            }
        }
    }
}
