//! `toolcrib secret set|list|rm|rotate`: what the vault holds. No value is ever printed.

mod consumers;
mod value_input;

use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_app::store::vault::{SecretInfo, SecretName, VaultError};

use self::consumers::SecretConsumer;
use crate::clap_args::{LibraryArgs, Secret, SecretSet};
use crate::output::{self, Failure};
use crate::{bootstrap, time_format};

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

fn parse_name(text: &str) -> Result<SecretName, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("{error}")))
}

const VALUE_AS_ARGUMENT_MESSAGE: &str = "a value is never taken from the command line: other processes can see it there, and the shell keeps it in its \
history. Type it when asked (`toolcrib secret set NAME`), or pipe it in (`toolcrib secret set NAME < FILE`). Nothing was kept; if that was \
the real value, change it at its service";

fn set(command: &SecretSet, json: bool) -> Result<u8, Failure> {
    if !command.value.is_empty() {
        return Err(Failure::usage(VALUE_AS_ARGUMENT_MESSAGE));
    }
    let name = parse_name(&command.name)?;
    let vault = bootstrap::open_vault()?;
    // Checked first, before a person types a value that cannot be stored.
    vault.read().map_err(failure)?;
    let value = value_input::read(&name)?;
    let replaced = vault.set(&name, &value, SystemClock.now_ms()).map_err(failure)?;
    if json {
        output::print_json(&json!({"set": name.as_str(), "replaced": replaced}), true)?;
    } else {
        let what = if replaced { "replaced" } else { "kept" };
        output::eprint_line(&format!("toolcrib: {name} is {what}, encrypted"));
    }
    Ok(0)
}

fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let listed = bootstrap::open_vault()?.list().map_err(failure)?;
    let users = consumers::find_consumers(places, json)?;
    if json {
        let rows = listed.iter().map(|secret| secret_json(secret, &users)).collect();
        output::print_json(&Value::Array(rows), true)?;
        return Ok(0);
    }
    if listed.is_empty() {
        output::eprint_line("toolcrib: no secrets are kept; `toolcrib secret set NAME` keeps one");
    }
    let width = listed.iter().map(|secret| secret.name.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for secret in &listed {
        let words: Vec<String> = consumers_of(secret, &users).map(ToString::to_string).collect();
        let used = if words.is_empty() { "unused".to_owned() } else { words.join(", ") };
        let name = secret.name.as_str();
        text +=
            &format!("{name:<width$}  set {}  {used}\n", time_format::format_local(secret.set_at));
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    }
    let missing = users.iter().filter(|(name, user)| {
        !matches!(user, SecretConsumer::Unknown { .. })
            && !listed.iter().any(|secret| secret.name == *name)
    });
    for (name, user) in missing {
        output::eprint_line(&format!("toolcrib: {user} names the secret {name}, which is not set"));
    }
    Ok(0)
}

fn consumers_of<'a>(
    secret: &'a SecretInfo,
    users: &'a [(SecretName, SecretConsumer)],
) -> impl Iterator<Item = &'a SecretConsumer> {
    users.iter().filter(|(name, _)| *name == secret.name).map(|(_, user)| user)
}

fn secret_json(secret: &SecretInfo, users: &[(SecretName, SecretConsumer)]) -> Value {
    json!({
        "name": secret.name.as_str(),
        "set_at": secret.set_at,
        "used_by": consumers_of(secret, users).filter_map(SecretConsumer::to_json).collect::<Vec<_>>(),
    })
}

fn remove(text: &str, json: bool) -> Result<u8, Failure> {
    let name = parse_name(text)?;
    if !bootstrap::open_vault()?.remove(&name).map_err(failure)? {
        return Err(Failure::not_found(format!(
            "there is no secret {name}; `toolcrib secret list` shows them"
        )));
    }
    if json {
        output::print_json(&json!({"removed": name.as_str()}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is removed"));
    }
    Ok(0)
}

fn rotate(json: bool) -> Result<u8, Failure> {
    let secrets = bootstrap::open_vault()?.rotate().map_err(failure)?;
    if json {
        output::print_json(&json!({"rotated": secrets}), true)?;
    } else {
        let words =
            if secrets == 1 { "1 secret is".to_owned() } else { format!("{secrets} secrets are") };
        output::eprint_line(&format!(
            "toolcrib: {words} encrypted with a new key; the old one is kept only to open calls that wait, until the next rotation"
        ));
    }
    Ok(0)
}
