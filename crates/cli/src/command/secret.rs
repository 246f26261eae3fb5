//! `toolcrib secret set|list|rm|rotate`: the content of the vault. No value is ever printed.

mod value_input;

pub(crate) use value_input::{read_password, read_token};

use serde_json::json;
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::secrets::{
    self, ListSecretsReply, ListSecretsRequest, RemoveSecretRequest, SecretContext, SecretReply,
    SetSecretRequest,
};

use crate::clap_args::{LibraryArgs, Secret, SecretSet, WorkspaceArgs};
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

/// Returns the context of operations on secrets. This process ends at once, so it neither masks
/// values nor applies changes.
fn context() -> Result<SecretContext<'static>, Failure> {
    let vault = bootstrap::open_vault()?;
    Ok(SecretContext { vault, masked: None, recorder: Recorder::None, configuration: None })
}

fn failure(error: OpError) -> Failure {
    match error {
        OpError::Conflict(nearly_there) => Failure::usage(nearly_there),
        error => error.into(),
    }
}

const VALUE_AS_ARGUMENT_MESSAGE: &str = "a value is never taken from the command line: other processes can see it there, and the shell keeps it in its \
history. Type it when asked (`toolcrib secret set NAME`), or pipe it in (`toolcrib secret set NAME < FILE`). Nothing was kept; if that was \
the real value, change it at its service";

fn set(command: &SecretSet, json: bool) -> Result<u8, Failure> {
    if !command.value.is_empty() {
        return Err(Failure::usage(VALUE_AS_ARGUMENT_MESSAGE));
    }
    let ctx = context()?;
    // Check the name first, before a person types a value that cannot be stored.
    let name = command.name.parse().map_err(|error| Failure::usage(format!("{error}")))?;
    ctx.vault.read().map_err(|error| failure(error.into()))?;
    let value = Some(value_input::read(&name)?);
    let request = SetSecretRequest { name: command.name.clone(), value };
    let stored = bootstrap::block_on(async { secrets::set(&ctx, request).await.map_err(failure) })?;
    if json {
        output::print_json(&json!({"set": stored.name, "replaced": stored.replaced}), true)?;
    } else {
        let what = if stored.replaced { "replaced" } else { "kept" };
        output::eprint_line(&format!("toolcrib: {name} is {what}, encrypted"));
    }
    Ok(0)
}

fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let ctx = context()?;
    let args = WorkspaceArgs {
        workspace: places.workspace.clone(),
        tools: places.tools.clone(),
        ..WorkspaceArgs::default()
    };
    let config = bootstrap::load_config(&bootstrap::or_current_dir(&args))?;
    let reply = bootstrap::block_on(async {
        // If the tools cannot be loaded, as with a damaged vault, the list contains only names.
        let toolcrib = bootstrap::inspect(&args, json).await.inspect_err(|failure| {
            let what = "the tools cannot be loaded, so the users of secrets are unknown";
            output::warn(&format!("{what}: {}", failure.message), json);
        });
        let toolcrib = toolcrib.ok();
        let request = ListSecretsRequest {
            configured: config.secret_consumers(),
            toolcrib: toolcrib.as_ref(),
        };
        secrets::list(&ctx, request).await.map_err(failure)
    })?;
    if json {
        output::print_json(&json!(reply.secrets), true)?;
    } else {
        print_list(&reply)?;
    }
    Ok(0)
}

fn print_list(reply: &ListSecretsReply) -> Result<(), Failure> {
    let ListSecretsReply { secrets, missing } = reply;
    if secrets.is_empty() {
        output::eprint_line("toolcrib: no secrets; `toolcrib secret set NAME` adds one");
    }
    let width = secrets.iter().map(|secret| secret.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for secret in secrets {
        let (name, used) = (&secret.name, used_text(secret));
        let set_at = time_format::format_local(secret.set_at);
        text += &format!("{name:<width$}  set {set_at}  {used}\n");
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    }
    for missing in missing {
        let (user, name) = (&missing.named_by, &missing.name);
        output::eprint_line(&format!(
            "toolcrib: {user} refers to the secret {name}, which is not set"
        ));
    }
    Ok(())
}

fn used_text(secret: &SecretReply) -> String {
    if let Some((tool, key)) = &secret.unused_key {
        return format!("unused: no tool {tool} here declares the key {key}");
    }
    let users = &secret.used_by;
    if users.is_empty() { "unused".to_owned() } else { users.join(", ") }
}

fn remove(name: &str, json: bool) -> Result<u8, Failure> {
    let request = RemoveSecretRequest { name: name.to_owned() };
    let ctx = context()?;
    let removed =
        bootstrap::block_on(async { secrets::remove(&ctx, request).await.map_err(failure) })?;
    if json {
        output::print_json(&json!(removed), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} is removed", removed.removed));
    }
    Ok(0)
}

fn rotate(json: bool) -> Result<u8, Failure> {
    let ctx = context()?;
    let reply = bootstrap::block_on(async { secrets::rotate(&ctx).await.map_err(failure) })?;
    if json {
        output::print_json(&json!(reply), true)?;
    } else {
        let words = match reply.rotated {
            1 => "1 secret is".to_owned(),
            count => format!("{count} secrets are"),
        };
        output::eprint_line(&format!(
            "toolcrib: {words} encrypted with a new key; the old key remains until the next rotation, to decrypt pending calls"
        ));
    }
    Ok(0)
}
