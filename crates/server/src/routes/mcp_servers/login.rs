//! Logins to MCP servers from the page: the owner starts a login, and the browser ends it when it
//! returns from the authorization server.

use axum::extract::{Extension, OriginalUri, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use toolcrib_ops::mcp_servers::McpLogin;

use super::details;
use crate::api::{Api, CALLBACK_PATH, Json, Operation, Path};
use crate::middleware::RequestOrigin;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let begin = Operation::post(
        "/mcp/servers/{name}/login",
        Role::Owner,
        "Begins a login to an MCP server.",
    );
    let begin = begin.description("Open `url` in a browser that reaches the daemon at the address of this request: the authorization server redirects to `/oauth/callback` there. Another login to the same server ends this one.").tag("mcp");
    api.add(begin.returns_ok::<McpLogin>("The address to open."), begin_login);
    let show = Operation::get(
        "/mcp/servers/{name}/login",
        Role::Owner,
        "Shows the last login to an MCP server.",
    );
    api.add(show.tag("mcp").returns_ok::<McpLogin>("Its state."), show_login);
    // The browser returns from another site and sends no session. The state in the address, a
    // random text of this login, authorizes the request.
    let callback = Operation::get(CALLBACK_PATH, Role::Viewer, "Ends a login to an MCP server.");
    let callback = callback
        .public()
        .at_root()
        .tag("mcp")
        .description("The redirect target of an authorization server.");
    let text = "text/plain; charset=utf-8";
    api.add(
        callback.returns_media(text, "The result of the login, as a page for a person."),
        end_login,
    );
}

async fn begin_login(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Extension(own): Extension<RequestOrigin>,
    Path(name): Path<String>,
) -> Result<Json<McpLogin>, Problem> {
    let config = details::find(&daemon, &name)?;
    let connection = details::connection(&daemon, &config)?;
    let redirect = format!("{}{CALLBACK_PATH}", own.origin);
    let login = daemon.mcp_logins().begin(connection, &redirect, principal.name.clone()).await?;
    daemon.admin_audit().record(&principal, "mcp.login", name.as_str()).await?;
    Ok(Json(login))
}

async fn show_login(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<McpLogin>, Problem> {
    let found = daemon.mcp_logins().show(&name);
    found.map(Json).ok_or_else(|| Problem::not_found(format!("no login to {name} waits")))
}

/// Ends a login. The answer does not repeat any part of the address.
async fn end_login(
    State(daemon): State<DaemonState>,
    Extension(own): Extension<RequestOrigin>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let back = format!("{}{}", own.origin, uri.path_and_query().map_or("", |text| text.as_str()));
    let (status, words) = match daemon.mcp_logins().finish(&back).await {
        None => {
            let words = "This does not belong to an open login.";
            return Err(Problem::new(Code::BadRequest, words));
        }
        Some(login) => {
            let name = login.connection.config().name.to_string();
            match login.ended {
                Ok(()) => {
                    tracing::info!(server = %name, by = %login.by, "an MCP server lets us in");
                    // The state of the server contains the reason for a failure.
                    tokio::spawn(async move { drop(login.connection.connect().await) });
                    (StatusCode::OK, "Done. You can close this window and go back to Toolcrib.")
                }
                Err(error) => {
                    tracing::warn!(server = %name, %error, "a login to an MCP server failed");
                    let words = "That did not work. Toolcrib says why where you started it.";
                    (StatusCode::BAD_REQUEST, words)
                }
            }
        }
    };
    let fixed = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((status, fixed, words).into_response())
}
