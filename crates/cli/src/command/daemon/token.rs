//! `toolcrib token`: the credentials of programs for the daemon.

use serde_json::{Value, json};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_ops::role::Role;
use toolcrib_ops::tokens::{CreateTokenRequest, MadeToken, TokenRow};

use crate::clap_args::{Token, TokenAdd};
use crate::daemon::DaemonPaths;
use crate::daemon::client::{ApiRequest, Client, parse_reply};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal, time_format};

const TOKENS_PATH: &str = "/api/v1/tokens";

pub(crate) fn run(command: &Token, json: bool) -> Result<u8, Failure> {
    if let Token::Show = command {
        return show(json);
    }
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        match command {
            Token::Add(command) => add(&client, command, json).await,
            Token::List => list(&client, json).await,
            Token::Revoke { token } => revoke(&client, token, json).await,
            Token::Show => Ok(0),
        }
    })
}

/// Prints the token of this machine, from a file that only its owner can read.
fn show(json: bool) -> Result<u8, Failure> {
    let path = DaemonPaths::current()?.token_file();
    let token = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::not_found("there is no token yet; the daemon creates it at its first start")
        }
        _ => Failure::run(format!("{} cannot be read: {error}", path.display())),
    })?;
    let token = token.trim();
    if json {
        output::print_json(&json!({"token": token}), true)?;
    } else {
        output::print_line(token)?;
    }
    Ok(0)
}

async fn add(client: &Client, command: &TokenAdd, json: bool) -> Result<u8, Failure> {
    let roles = if command.roles.is_empty() { vec![Role::Viewer] } else { command.roles.clone() };
    let request = CreateTokenRequest {
        name: command.name.clone(),
        roles,
        tools: Some(command.tools.clone()).filter(|tools| !tools.is_empty()),
        owner: None,
        expires_in_seconds: command.expires.map(|expires| expires.as_secs()),
    };
    let made = client.send(&ApiRequest::post(TOKENS_PATH, &request)).await?.into_result()?;
    if json {
        output::print_json(&made, true)?;
        return Ok(0);
    }
    output::print_line(&parse_reply::<MadeToken>(made)?.token)?;
    output::eprint_line("toolcrib: this token is shown only once");
    Ok(0)
}

/// Reads all tokens, page by page.
async fn fetch_tokens(client: &Client) -> Result<Vec<Value>, Failure> {
    let (mut rows, mut path) = (Vec::new(), TOKENS_PATH.to_owned());
    loop {
        let mut page = client.get(&path).await?;
        let items = page.get_mut("items").and_then(Value::as_array_mut);
        rows.append(&mut items.map(std::mem::take).unwrap_or_default());
        match page.get("next").and_then(Value::as_str) {
            // Cursors consist of characters that need no escaping.
            Some(cursor) => path = format!("{TOKENS_PATH}?cursor={cursor}"),
            None => return Ok(rows),
        }
    }
}

async fn list(client: &Client, json: bool) -> Result<u8, Failure> {
    let rows = fetch_tokens(client).await?;
    if json {
        output::print_json(&Value::Array(rows), true)?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::eprint_line("toolcrib: no tokens besides that of this machine");
    }
    let now = SystemClock.now_ms();
    for row in rows {
        let row: TokenRow = parse_reply(row)?;
        let used = row.last_used_at.map_or_else(
            || "never used".to_owned(),
            |at| format!("used {} ago", time_format::format_age(at, now)),
        );
        let state = match (row.holds, row.revoked_at, row.expires_at) {
            (true, _, Some(at)) => format!("  ends in {}", time_format::format_age(now, at)),
            (true, _, None) => String::new(),
            (false, Some(_), _) => "  revoked".to_owned(),
            (false, None, _) => "  expired".to_owned(),
        };
        let name = terminal::escape_to_line(&row.name);
        let roles = row.roles.join(",");
        output::print_line(&format!("{}  {name:<16} {roles:<20} {used}{state}", row.id))?;
    }
    Ok(0)
}

async fn revoke(client: &Client, token: &str, json: bool) -> Result<u8, Failure> {
    let rows = fetch_tokens(client).await?.into_iter().map(parse_reply);
    let rows = rows.collect::<Result<Vec<TokenRow>, Failure>>()?;
    let is_meant =
        |row: &&TokenRow| row.id.to_string() == token || (row.name == token && row.holds);
    let held: Vec<&TokenRow> = rows.iter().filter(is_meant).collect();
    let id = match held.as_slice() {
        [row] => row.id,
        [] => return Err(Failure::not_found(format!("there is no valid token {token}"))),
        several => {
            let ids: Vec<String> = several.iter().map(|row| row.id.to_string()).collect();
            return Err(Failure::usage(format!(
                "several tokens have this name; use an id: {}",
                ids.join(", ")
            )));
        }
    };
    client.send(&ApiRequest::delete(&format!("{TOKENS_PATH}/{id}"))).await?.into_result()?;
    if json {
        output::print_json(&json!({"revoked": id}), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: revoked the token {}",
            terminal::escape_to_line(token)
        ));
    }
    Ok(0)
}
