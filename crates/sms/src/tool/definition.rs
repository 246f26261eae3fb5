//! Parts that the definitions of the SMS tools share.

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::{
    ConfigKey, Effect, Example, Permission, Reach, Risk, ToolName, ToolSpec, Trust, defaults,
    remote_name, schema,
};

/// Id of the source of these tools.
pub const SOURCE: &str = "sms";
/// Feature switch and group of these tools.
pub const FEATURE: &str = "sms";
/// The configuration value that says that SMS may be read.
pub const READ_KEY: &str = "read";
/// The configuration value that says that drafts of SMS may be written.
pub const SEND_KEY: &str = "send";

/// The base definition of a tool that reads SMS.
pub(super) fn reads<A: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    example: (&str, Value),
) -> ToolSpec {
    let mut spec = base::<A>(name, title, description, example);
    spec.effect = Effect::Read;
    spec.reach = Reach { private_read: true, ..Reach::default() };
    spec.trust = Trust::External;
    spec.polling = true;
    spec.config = vec![read_key()];
    spec
}

/// The base definition of a tool that writes a draft.
pub(super) fn writes<A: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    example: (&str, Value),
) -> ToolSpec {
    let mut spec = base::<A>(name, title, description, example);
    spec.effect = Effect::SideEffect;
    spec.reach = Reach::default();
    spec.trust = Trust::Tool;
    spec.config = vec![ConfigKey {
        key: SEND_KEY.to_owned(),
        description: "Sending SMS; `toolcrib sms set --send true` switches it on.".to_owned(),
        secret: false,
        required: true,
    }];
    spec
}

/// Returns the configuration key of tools that read SMS.
pub(super) fn read_key() -> ConfigKey {
    ConfigKey {
        key: READ_KEY.to_owned(),
        description: "Reading SMS; `toolcrib sms set --read true` switches it on.".to_owned(),
        secret: false,
        required: true,
    }
}

fn base<A: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    (need, args): (&str, Value),
) -> ToolSpec {
    // The names passed in are valid (tested); the other arm only avoids a panic.
    let name = ToolName::local(name).unwrap_or_else(|_| remote_name(SOURCE, name));
    let mut spec = ToolSpec::new(name, description, schema::for_type::<A>());
    title.clone_into(&mut spec.title);
    spec.examples = vec![Example { need: need.to_owned(), args }];
    spec.risk = Risk::Safe;
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT * 2;
    spec.attempts = 1;
    spec.group = Some(FEATURE.to_owned());
    spec.controlled_by = Some(FEATURE.to_owned());
    spec
}
