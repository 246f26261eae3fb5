//! `toolcrib mcp auth`: a person authorizes Toolcrib in a browser to use the tools of a server in
//! their name.

use std::io::BufRead as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use toolcrib_app::mcp::client::{AuthError, Connection, Login, Remote, ServerConfig};
use toolcrib_core::ErrorType;

use super::find_server::find_server;
use super::oauth_callback::{CallbackListener, CallbackRequest};
use super::review_server::{open_connection, unreachable};
use crate::bootstrap;
use crate::clap_args::McpAuth;
use crate::output::{self, Failure};

/// Time limit for the person.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

pub(super) async fn run(command: &McpAuth, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    let config = find_server(name)?;
    let Remote::Http(http) = &config.remote else {
        return Err(Failure::usage(format!(
            "{name} is a program: pass its credentials as a variable; `secret:NAME` refers to a secret"
        )));
    };
    if command.forget {
        return forget(&config, json);
    }
    let fixed = http.oauth.redirect_port;
    let (_toolcrib, connection) = open_connection(name, &command.workspace_args).await?;
    let Some(kept) = connection.authorization().await else {
        return Err(Failure::usage(if http.has_own_credentials() {
            format!("a header of mcp.toml says who we are at {name}; take it out to log in")
        } else {
            format!(
                "{name} is on another machine without TLS, where others on the network could read a token; give it an https address in mcp.toml"
            )
        }));
    };
    match connection.connect().await {
        Ok(count) if !kept.is_needed() => return print_authorized(name, count, json),
        Err(error) if error.error_type != ErrorType::NotConfigured => {
            return Err(unreachable(name, &error));
        }
        _ => {}
    }
    let port = fixed.or_else(|| kept.redirect().and_then(CallbackListener::port_of));
    let mut redirects = CallbackListener::listen(port, fixed.is_some()).await.map_err(|error| {
        Failure::run(format!("redirects cannot be listened for on this machine: {error}"))
    })?;
    let failed = |error: &AuthError| Failure::run(format!("{name} is not authorized: {error}"));
    let login = connection.login(redirects.address()).await.map_err(|error| failed(&error))?;
    show_login_url(name, &login, redirects.address(), command.no_browser, json)?;
    let waited = wait_for_callback(&connection, &login, &mut redirects, command.no_browser);
    match tokio::time::timeout(LOGIN_TIMEOUT, waited).await {
        Ok(ended) => ended.map_err(|error| failed(&error))?,
        Err(_) => {
            return Err(Failure::run(format!(
                "{name} is not authorized: the browser did not return"
            )));
        }
    }
    let count = connection.connect().await.map_err(|error| unreachable(name, &error))?;
    connection.disconnect().await;
    print_authorized(name, count, json)
}

fn print_authorized(name: &str, count: usize, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!({"name": name, "authorized": true, "tools": count}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} lets us in; it has {count} tools"));
    }
    Ok(0)
}

/// Deletes the tokens, and the client that was registered for them.
pub(super) fn forget(config: &ServerConfig, json: bool) -> Result<u8, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let gone = match toolcrib_app::oauth_secret_name(&config.name) {
        Some(secret) => bootstrap::open_vault()?.remove(&secret).map_err(|error| failed(&error))?,
        None => false,
    };
    if json {
        output::print_json(&json!({"name": config.name, "forgotten": gone}), true)?;
    } else if gone {
        output::eprint_line(&format!(
            "toolcrib: the authorization for {} is forgotten",
            config.name
        ));
    } else {
        output::eprint_line(&format!("toolcrib: there is no authorization for {}", config.name));
    }
    Ok(0)
}

/// Shows the address, and opens it if there is a desktop.
fn show_login_url(
    name: &str,
    login: &Login,
    back: &str,
    no_browser: bool,
    json: bool,
) -> Result<(), Failure> {
    let scopes = match login.scopes() {
        [] => String::new(),
        scopes => format!(", for {}", scopes.join(" ")),
    };
    output::eprint_line(&format!(
        "toolcrib: {name} sends you to {}{scopes}. Open this:",
        login.issuer()
    ));
    if json {
        output::eprint_line(login.url());
    } else {
        output::print_line(&format!("{}\n", login.url()))?;
    }
    if no_browser {
        output::eprint_line(&format!(
            "toolcrib: then paste the address that you are sent to, which begins with {back}"
        ));
        return Ok(());
    }
    if let Some(opener) = bootstrap::desktop_opener() {
        // The address is an argument: no shell parses it. It was checked to be a web address.
        let mut command = std::process::Command::new(&opener.program);
        command.arg(login.url()).env_clear().envs(opener.env);
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    }
    Ok(())
}

/// Waits until the browser returns with a response that belongs to this login, or the person pastes
/// its address.
async fn wait_for_callback(
    connection: &Connection,
    login: &Login,
    redirects: &mut CallbackListener,
    no_browser: bool,
) -> Result<(), AuthError> {
    let mut pasted = if no_browser { stdin_lines() } else { mpsc::channel(1).1 };
    loop {
        let redirected = tokio::select! {
            redirected = redirects.next() => redirected,
            Some(line) = pasted.recv() => CallbackRequest::from_pasted(line),
        };
        let ended = connection.finish_login(login, redirected.address()).await;
        let foreign = ended == Err(AuthError::ForeignRedirect);
        redirected.answer(&ended).await;
        if !foreign {
            return ended;
        }
        output::eprint_line("toolcrib: that address does not belong to this login; still waiting");
    }
}

/// Reads lines that a person types. Waiting for one blocks a thread, which ends with the process.
fn stdin_lines() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let typed = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in typed.filter(|line| !line.trim().is_empty()) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
