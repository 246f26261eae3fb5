//! Parts that the definitions of the mail tools share.

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::{
    ConfigKey, Effect, Example, Permission, Reach, Risk, ToolName, ToolSpec, Trust, defaults,
    remote_name, schema,
};

/// Id of the source of these tools.
pub const SOURCE: &str = "mail";
/// Feature switch and group of these tools.
pub const FEATURE: &str = "email";
/// The configuration value that says that there is an account.
pub const ACCOUNT_KEY: &str = "account";

/// The base definition of a tool that needs an account.
pub(super) fn base_spec<A: JsonSchema>(
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
    spec.effect = Effect::Read;
    spec.reach = Reach { private_read: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.trust = Trust::External;
    spec.timeout = defaults::TIMEOUT * 2;
    spec.attempts = 1;
    spec.polling = true;
    spec.group = Some(FEATURE.to_owned());
    spec.controlled_by = Some(FEATURE.to_owned());
    spec.config = vec![ConfigKey {
        key: ACCOUNT_KEY.to_owned(),
        description: "A mail account; toolcrib mail add sets one up.".to_owned(),
        secret: false,
        required: true,
    }];
    spec
}
