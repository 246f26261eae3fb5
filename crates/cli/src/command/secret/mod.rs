//! `toolcrib secret set|list|rm|rotate`: what the vault holds. No value is ever printed.

mod users;
mod value;

use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_app::store::vault::{Listed, SecretName, VaultError};

use self::users::User;
use crate::cli::{Places, Secret, SecretSet};
use crate::output::{self, Failure};
use crate::{when, world};

pub(crate) fn run(command: &Secret, json: bool) -> Result<u8, Failure> {
    match command {
        Secret::Set(command) => set(command, json),
        Secret::List(places) => list(places, json),
        Secret::Rm { name } => remove(name, json),
        Secret::Rotate => rotate(json),
    }
}

fn failure(error: VaultError) -> Failure {
    match error {
        VaultError::NearlyThere { .. } => Failure::usage(error.to_string()),
        error => Failure::configuration(error.to_string()),
    }
}

fn name(text: &str) -> Result<SecretName, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("{error}")))
}

const AS_ARGUMENT: &str = "a value is never taken from the command line: other processes can see it there, and the shell keeps it in its \
history. Type it when asked (`toolcrib secret set NAME`), or pipe it in (`toolcrib secret set NAME < FILE`). Nothing was kept; if that was \
the real value, change it at its service";

fn set(command: &SecretSet, json: bool) -> Result<u8, Failure> {
    if !command.value.is_empty() {
        return Err(Failure::usage(AS_ARGUMENT));
    }
    let name = name(&command.name)?;
    let vault = world::vault()?;
    // Before anybody types something that cannot be kept.
    vault.read().map_err(failure)?;
    let value = value::read(&name)?;
    let replaced = vault.set(&name, &value, SystemClock.now_ms()).map_err(failure)?;
    if json {
        output::document(&json!({"set": name.as_str(), "replaced": replaced}), true)?;
    } else {
        let what = if replaced { "replaced" } else { "kept" };
        output::note(&format!("toolcrib: {name} is {what}, encrypted"));
    }
    Ok(0)
}

fn list(places: &Places, json: bool) -> Result<u8, Failure> {
    let listed = world::vault()?.list().map_err(failure)?;
    let users = users::find(places, json)?;
    if json {
        let rows = listed.iter().map(|secret| row(secret, &users)).collect();
        output::document(&Value::Array(rows), true)?;
        return Ok(0);
    }
    if listed.is_empty() {
        output::note("toolcrib: no secrets are kept; `toolcrib secret set NAME` keeps one");
    }
    let width = listed.iter().map(|secret| secret.name.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for secret in &listed {
        let words: Vec<String> = of(secret, &users).map(ToString::to_string).collect();
        let used = if words.is_empty() { "nobody uses it".to_owned() } else { words.join(", ") };
        let name = secret.name.as_str();
        text += &format!("{name:<width$}  set {}  {used}\n", when::local(secret.set_at));
    }
    if !text.is_empty() {
        output::data(&text)?;
    }
    let missing = users.iter().filter(|(name, user)| {
        !matches!(user, User::Unknown { .. }) && !listed.iter().any(|secret| secret.name == *name)
    });
    for (name, user) in missing {
        output::note(&format!("toolcrib: {user} names the secret {name}, which is not set"));
    }
    Ok(0)
}

fn of<'a>(secret: &'a Listed, users: &'a [(SecretName, User)]) -> impl Iterator<Item = &'a User> {
    users.iter().filter(|(name, _)| *name == secret.name).map(|(_, user)| user)
}

fn row(secret: &Listed, users: &[(SecretName, User)]) -> Value {
    json!({
        "name": secret.name.as_str(),
        "set_at": secret.set_at,
        "used_by": of(secret, users).filter_map(User::row).collect::<Vec<_>>(),
    })
}

fn remove(text: &str, json: bool) -> Result<u8, Failure> {
    let name = name(text)?;
    if !world::vault()?.remove(&name).map_err(failure)? {
        return Err(Failure::not_found(format!(
            "there is no secret {name}; `toolcrib secret list` shows them"
        )));
    }
    if json {
        output::document(&json!({"removed": name.as_str()}), true)?;
    } else {
        output::note(&format!("toolcrib: {name} is removed"));
    }
    Ok(0)
}

fn rotate(json: bool) -> Result<u8, Failure> {
    let secrets = world::vault()?.rotate().map_err(failure)?;
    if json {
        output::document(&json!({"rotated": secrets}), true)?;
    } else {
        let words =
            if secrets == 1 { "1 secret is".to_owned() } else { format!("{secrets} secrets are") };
        output::note(&format!(
            "toolcrib: {words} encrypted with a new key; the old one is kept only to open calls that wait, until the next rotation"
        ));
    }
    Ok(0)
}
