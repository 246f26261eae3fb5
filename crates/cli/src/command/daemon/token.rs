//! `toolcrib token`: what programs show the daemon.

use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_server::Role;

use crate::cli::{Token, TokenAdd};
use crate::daemon::Place;
use crate::daemon::client::{Ask, Client};
use crate::output::{self, Failure};
use crate::{terminal, when, world};

const PATH: &str = "/api/v1/tokens";

pub(crate) fn run(command: &Token, json: bool) -> Result<u8, Failure> {
    if let Token::Show = command {
        return show(json);
    }
    world::block_on(async {
        let client = Client::required().await?;
        match command {
            Token::Add(command) => add(&client, command, json).await,
            Token::List => list(&client, json).await,
            Token::Revoke { token } => revoke(&client, token, json).await,
            Token::Show => Ok(0),
        }
    })
}

/// The token of this machine is a file that only its owner reads.
fn show(json: bool) -> Result<u8, Failure> {
    let path = Place::own()?.token();
    let token = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::not_found(
            "there is no token yet; the daemon makes it when it starts for the first time",
        ),
        _ => Failure::run(format!("{} cannot be read: {error}", path.display())),
    })?;
    let token = token.trim();
    if json {
        output::document(&json!({"token": token}), true)?;
    } else {
        output::data(token)?;
    }
    Ok(0)
}

async fn add(client: &Client, command: &TokenAdd, json: bool) -> Result<u8, Failure> {
    let viewer = [Role::Viewer];
    let roles = if command.roles.is_empty() { &viewer } else { command.roles.as_slice() };
    let mut body = json!({"name": command.name, "roles": roles});
    if !command.tools.is_empty() {
        body["tools"] = json!(command.tools);
    }
    if let Some(expires) = command.expires {
        body["expires_in_seconds"] = json!(expires.as_secs());
    }
    let made = client.send(&Ask::post(PATH, &body)).await?.done()?;
    if json {
        output::document(&made, true)?;
        return Ok(0);
    }
    output::data(made.get("token").and_then(Value::as_str).unwrap_or_default())?;
    output::note("toolcrib: this is the only time that it is shown");
    Ok(0)
}

/// All of them, page by page.
async fn rows(client: &Client) -> Result<Vec<Value>, Failure> {
    let (mut rows, mut path) = (Vec::new(), PATH.to_owned());
    loop {
        let mut page = client.get(&path).await?;
        let items = page.get_mut("items").and_then(Value::as_array_mut);
        rows.append(&mut items.map(std::mem::take).unwrap_or_default());
        match page.get("next").and_then(Value::as_str) {
            // Cursors are made of letters that need no escaping.
            Some(cursor) => path = format!("{PATH}?cursor={cursor}"),
            None => return Ok(rows),
        }
    }
}

async fn list(client: &Client, json: bool) -> Result<u8, Failure> {
    let rows = rows(client).await?;
    if json {
        output::document(&Value::Array(rows), true)?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::note("toolcrib: there are no tokens beside that of this machine");
    }
    let now = SystemClock.now_ms();
    for row in rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
        let time = |key: &str| row.get(key).and_then(Value::as_i64);
        let roles = row.get("roles").and_then(Value::as_array).into_iter().flatten();
        let roles: Vec<&str> = roles.filter_map(Value::as_str).collect();
        let used = time("last_used_at").map_or_else(
            || "never used".to_owned(),
            |at| format!("used {} ago", when::age(at, now)),
        );
        let state = match (holds(&row), time("revoked_at"), time("expires_at")) {
            (true, _, Some(at)) => format!("  ends in {}", when::age(now, at)),
            (true, _, None) => String::new(),
            (false, Some(_), _) => "  revoked".to_owned(),
            (false, None, _) => "  expired".to_owned(),
        };
        let name = terminal::one_line(text("name"));
        output::data(&format!("{}  {name:<16} {:<20} {used}{state}", text("id"), roles.join(",")))?;
    }
    Ok(0)
}

fn holds(row: &Value) -> bool {
    row.get("holds") == Some(&Value::Bool(true))
}

async fn revoke(client: &Client, token: &str, json: bool) -> Result<u8, Failure> {
    let is = |row: &&Value, key: &str| row.get(key).and_then(Value::as_str) == Some(token);
    let rows = rows(client).await?;
    let held: Vec<&Value> =
        rows.iter().filter(|row| is(row, "id") || (is(row, "name") && holds(row))).collect();
    let row = match held.as_slice() {
        [row] => row,
        [] => return Err(Failure::not_found(format!("there is no token {token} that holds"))),
        several => {
            let ids: Vec<&str> =
                several.iter().filter_map(|row| row.get("id").and_then(Value::as_str)).collect();
            return Err(Failure::usage(format!(
                "several tokens have this name; give the id of one: {}",
                ids.join(", ")
            )));
        }
    };
    let id = row.get("id").and_then(Value::as_str).unwrap_or_default();
    client.send(&Ask::delete(&format!("{PATH}/{id}"))).await?.done()?;
    if json {
        output::document(&json!({"revoked": id}), true)?;
    } else {
        output::note(&format!("toolcrib: the token {} holds no more", terminal::one_line(token)));
    }
    Ok(0)
}
