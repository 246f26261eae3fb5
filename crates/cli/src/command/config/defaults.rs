//! Defaults of the keys that every configuration has.

use toml::Value;
use toolcrib_agent::library::GENERAL_ASSISTANT;
use toolcrib_app::Preset;
use toolcrib_core::defaults;
use toolcrib_server::DaemonSettings;

use crate::config::{self, KeyPath};

/// A default: a value, or a description if there is none.
pub(super) enum DefaultValue {
    Value(Value),
    Description(&'static str),
}

/// Returns all defaults, in the order of lists.
pub(super) fn defaults() -> Vec<(KeyPath, DefaultValue)> {
    use DefaultValue::Description;
    let value = |value: Value| DefaultValue::Value(value);
    let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let empty = || Value::Array(Vec::new());
    let seconds = |time: std::time::Duration| Value::String(format!("{}s", time.as_secs()));
    let time = seconds(defaults::RUN_TIME);
    let daemon = DaemonSettings::new("");
    [
        ("agent.default", value(GENERAL_ASSISTANT.into())),
        ("inbox", value(false.into())),
        ("limits.calls", value(number(defaults::RUN_CALLS))),
        ("limits.cost", Description("no limit")),
        ("limits.rounds", value(number(u64::from(toolcrib_agent::machine::ROUNDS)))),
        ("limits.time", value(time)),
        ("limits.tokens", Description("no limit")),
        ("model.default", Description("none: --model, or the only configured provider")),
        ("model.fallback", value(empty())),
        ("model.stream", value(true.into())),
        ("on_ask", Description("ask at the terminal, otherwise deny")),
        ("permissions.exec", value("granted".into())),
        ("permissions.fs_read", value("granted".into())),
        ("permissions.fs_write", value("granted".into())),
        ("permissions.network", value("granted".into())),
        ("policy", value(Preset::default().as_str().into())),
        ("python.full", value(true.into())),
        (
            "python.program",
            Description("the environment of `toolcrib python install`, otherwise the first working Python in PATH"),
        ),
        ("server.drain", value(seconds(daemon.drain))),
        ("server.hosts", value(empty())),
        ("server.listen", value(config::DEFAULT_LISTEN.to_string().into())),
        ("server.origins", value(empty())),
        ("server.tcp", value(true.into())),
        ("server.tls_cert", Description("none: the daemon listens on loopback only")),
        ("trusted_workspaces", value(empty())),
    ]
    .into_iter()
    .map(|(key, value)| (KeyPath(key.split('.').map(str::to_owned).collect()), value))
    .collect()
}
