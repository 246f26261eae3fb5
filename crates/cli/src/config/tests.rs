//! Tests of reading files, resolving models, and all error messages.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use toolcrib_app::Preset;

use crate::config::loader::parse;
use crate::config::providers::list_providers;
use crate::config::{Config, Env, ModelChain, ModelChoice, ModelFlags, OnAsk, resolve_model_chain};
use crate::output::Failure;

fn load(env: &Env) -> Result<Config, Failure> {
    crate::config::load(env, None)
}

const SECRET: &str = "sk-very-secret-0123456789";

fn env(variables: &[(&str, &str)]) -> Env {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

fn config(text: &str) -> Config {
    let path = Path::new("/etc/toolcrib/config.toml");
    let mut config = parse(path, text).unwrap();
    config.path = path.to_owned();
    config
}

fn flags(words: &[&str]) -> ModelFlags {
    let value = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    ModelFlags {
        provider: value("--provider"),
        base_url: value("--base-url"),
        model: value("--model"),
        no_stream: words.contains(&"--no-stream"),
    }
}

/// Returns the chosen models in short: `provider[@base_url] model`, or the script.
fn short(chosen: &ModelChain) -> Vec<String> {
    let one = |choice: &ModelChoice| match choice {
        ModelChoice::Scripted(path) => format!("scripted:{}", path.display()),
        ModelChoice::Live { provider, model } => {
            let at = provider.base_url.as_deref().map(|url| format!("@{url}")).unwrap_or_default();
            format!("{}{at} {model}", provider.id)
        }
    };
    chosen.models.iter().map(one).collect()
}

const FULL: &str = r#"
on_ask = "wait:5m"
policy = "auto"

[model]
default = "local/qwen3"
fallback = ["anthropic/claude-x", "scripted:fallback.yaml"]
stream = false

[providers.local]
kind = "openai-compatible"
base_url = "http://127.0.0.1:8000/v1"
model = "qwen3"
headers = { X-Team = "blue" }
on_device = true
idle = "30s"
timeout = 90
retries = 0
max_per_minute = 10
server = "vllm"
quirks = { images = false, output_cap = "max_completion_tokens" }

[providers.anthropic]
key_env = "MY_KEY"

[models."qwen3*"]
window = 32768
input_price = "$0.10"
output_price = 0

[limits]
rounds = 20
calls = 100
tokens = 200000
time = "1h"
cost = 0.5

[tools.web_search]
timeout = "20s"
enabled = true
ask = false
max_concurrent = 2
config = { key = "abc", results = 5, safe = true }

[agent]
default = "general"
"#;

#[test]
fn every_key_of_the_file_is_read() {
    let config = config(FULL);
    assert_eq!(config.on_ask, Some(OnAsk::Wait(Duration::from_secs(300))));
    assert_eq!(config.policy, Some(Preset::Auto));
    assert_eq!(config.agent.default.as_deref(), Some("general"));
    let facts = &config.models["qwen3*"];
    assert_eq!(facts.window, Some(32768));
    let price = facts.price.unwrap();
    assert_eq!((price.input, price.output), (100_000, 0));
    let limits = &config.limits;
    assert_eq!(limits.rounds.map(|rounds| rounds.0), Some(20));
    assert_eq!(
        (limits.calls, limits.tokens, limits.cost),
        (Some(100), Some(200_000), Some(500_000))
    );
    assert_eq!(limits.time, Some(Duration::from_secs(3600)));
    let tools = config.tool_settings();
    let tool = &tools["web_search"];
    assert_eq!(tool.timeout, Some(Duration::from_secs(20)));
    assert_eq!((tool.enabled, tool.ask, tool.max_concurrent), (Some(true), Some(false), Some(2)));
    let value = |key: &str| tool.config[key].as_str();
    assert_eq!((value("key"), value("results"), value("safe")), ("abc", "5", "true"));

    let chosen =
        resolve_model_chain(&ModelFlags::default(), &config, &env(&[("MY_KEY", SECRET)])).unwrap();
    assert!(!chosen.stream);
    assert_eq!(
        short(&chosen),
        [
            "local@http://127.0.0.1:8000/v1 qwen3",
            "anthropic claude-x",
            "scripted:/etc/toolcrib/fallback.yaml"
        ]
    );
    let ModelChoice::Live { provider, .. } = &chosen.models[0] else { panic!() };
    assert!(provider.on_device && provider.key.is_none());
    assert_eq!((provider.idle.as_secs(), provider.timeout.as_secs()), (30, 90));
    assert_eq!((provider.retries, provider.max_per_minute), (0, Some(10)));
    assert_eq!(provider.headers, [("X-Team".to_owned(), "blue".to_owned())]);
    assert_eq!(provider.server.map(|server| server.as_str()), Some("vllm"));
    assert_eq!(provider.quirks["images"], false);
    let ModelChoice::Live { provider, .. } = &chosen.models[1] else { panic!() };
    assert_eq!(provider.key.as_ref().map(ToString::to_string).as_deref(), Some("…6789"));
}

#[test]
fn what_is_wrong_with_the_file_is_said_with_its_line() {
    let cases = [
        ("[model]\ndefalt = \"a/b\"", "2: unknown key `defalt`, did you mean `default`?"),
        ("\n[modle]", "2: unknown key `modle`, did you mean `model`?"),
        ("[model]\nzzzzzz = 1", "2: unknown key `zzzzzz`; known are default, fallback, stream"),
        ("[model]\nstream = \"yes\"", "2: `model.stream`: expected true or false, got text"),
        (
            "[limits]\ntime = \"soon\"",
            "2: `soon` is not a duration; write 90s, 5m or 1h, at most a year",
        ),
        (
            "[limits]\ntime = true",
            "2: `true` is not a duration; write 90s, 5m or 1h, at most a year",
        ),
        (
            "[limits]\ncost = \"much\"",
            "2: `much` is not an amount of money; write \"$0.50\" or 0.5 (USD)",
        ),
        ("[limits]\nrounds = 0", "2: rounds go from 1 to 100"),
        ("on_ask = \"maybe\"", "1: `maybe` is none of deny, fail, wait:DURATION"),
        ("policy = \"atuo\"", "1: unknown word `atuo`, did you mean `auto`?"),
        (
            "[providers.a]\nkind = \"antropic\"",
            "2: unknown word `antropic`, did you mean `anthropic`?",
        ),
        (
            "[model]\n\n[providers.acme]\nbase_url = \"http://x/v1\"",
            "3: the provider `acme` needs `kind`, one of openai-chat, openai-responses, anthropic, gemini, ollama, deepseek, openai-compatible",
        ),
        (
            "\n[providers.gemini]\nkey = \"a\"\nkey_env = \"B\"",
            "2: give one of `key_env`, `key_file` and `key`, not several",
        ),
        (
            "[providers.anthropic]\nkey = [5]",
            "2: `providers.anthropic.key`: expected a text, a number, true or false, or { secret = \"NAME\" }, got a list",
        ),
        (
            "[providers.\"My Server\"]\nkind = \"ollama\"",
            "1: an id of a provider has 1 to 60 of a-z, 0-9, -, _ and .",
        ),
        (
            "[providers.scripted]\nkind = \"ollama\"",
            "1: `scripted` is the provider of scripts; choose another id",
        ),
        (
            "[providers.ollama]\nquirks = { num_ctxt = 5 }",
            "2: unknown key `num_ctxt`, did you mean `num_ctx`?",
        ),
        ("[models.\"a*\"]\ninput_price = 1", "1: `input_price` and `output_price` go together"),
        (
            "[tools.a.config]\nb = [1]",
            "2: `tools.a.config.b`: expected a text, a number, true or false, or { secret = \"NAME\" }, got a list",
        ),
    ];
    for (text, message) in cases {
        let failure = parse(Path::new("c.toml"), text).map(|_| ()).unwrap_err();
        assert_eq!((failure.code, failure.message), (3, format!("c.toml:{message}")));
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file = "
[model]
default = \"local/from-file\"
[providers.local]
kind = \"openai-compatible\"
base_url = \"http://127.0.0.1:1/v1\"
[providers.ollama]
model = \"from-section\"
[providers.openrouter]
kind = \"openai-compatible\"
base_url = \"https://openrouter.ai/api/v1\"
";
    let local = "local@http://127.0.0.1:1/v1";
    let check = |words: &[&str], variables: &[(&str, &str)], expected: &str| {
        let chosen = resolve_model_chain(&flags(words), &config(file), &env(variables)).unwrap();
        assert_eq!(short(&chosen), [expected], "{words:?} {variables:?}");
    };
    let key = ("ANTHROPIC_API_KEY", SECRET);
    check(&[], &[], &format!("{local} from-file"));
    check(&[], &[("TOOLCRIB_MODEL", "ollama/from-env")], "ollama from-env");
    check(
        &["--model", "anthropic/claude"],
        &[key, ("TOOLCRIB_MODEL", "ollama/from-env"), ("TOOLCRIB_PROVIDER", "ollama")],
        "anthropic claude",
    );
    // A model without a provider gets the provider from the next source that has one.
    check(&["--model", "m"], &[("TOOLCRIB_PROVIDER", "ollama")], "ollama m");
    // A provider alone gets its model from the next source that names one of it, else from its
    // section.
    check(&["--provider", "ollama"], &[], "ollama from-section");
    check(&["--provider", "ollama"], &[("TOOLCRIB_MODEL", "ollama/from-env")], "ollama from-env");
    check(&["--provider", "local"], &[], &format!("{local} from-file"));
    // Together with its provider, a name is used unchanged.
    check(
        &["--provider", "openrouter", "--model", "anthropic/claude"],
        &[],
        "openrouter@https://openrouter.ai/api/v1 anthropic/claude",
    );
    check(
        &["--model", "openrouter/anthropic/claude"],
        &[],
        "openrouter@https://openrouter.ai/api/v1 anthropic/claude",
    );
    // Base URLs.
    check(
        &["--provider", "local", "--model", "m", "--base-url", "http://b/v1"],
        &[("TOOLCRIB_BASE_URL", "http://c/v1")],
        "local@http://b/v1 m",
    );
    check(&[], &[("TOOLCRIB_BASE_URL", "http://c/v1")], "local@http://c/v1 from-file");
    check(
        &["--model", "anthropic/claude"],
        &[key, ("TOOLCRIB_BASE_URL", "http://c/v1"), ("TOOLCRIB_PROVIDER", "ollama")],
        "anthropic claude",
    );
    // Any server, without a configuration.
    check(
        &["--base-url", "http://d/v1", "--model", "meta/llama"],
        &[],
        "openai-compatible@http://d/v1 meta/llama",
    );
    check(
        &["--provider", "openai-chat", "--base-url", "http://d/v1", "--model", "m"],
        &[],
        "openai-chat@http://d/v1 m",
    );
    // An empty variable counts as not set.
    check(&[], &[("TOOLCRIB_MODEL", "")], &format!("{local} from-file"));
    // Scripts.
    check(&["--model", "scripted:a.yaml"], &[], "scripted:a.yaml");
    check(&["--provider", "scripted", "--model", "a.yaml"], &[], "scripted:a.yaml");
    check(&[], &[("TOOLCRIB_MODEL", "scripted:/b.yaml")], "scripted:/b.yaml");
}

#[test]
fn a_short_name_goes_to_the_only_provider() {
    let chosen = resolve_model_chain(
        &flags(&["--model", "gpt-x"]),
        &config(""),
        &env(&[("OPENAI_API_KEY", SECRET)]),
    );
    assert_eq!(short(&chosen.unwrap()), ["openai-responses gpt-x"]);
    let only = "[providers.vllm]\nkind = \"openai-compatible\"\nbase_url = \"http://x/v1\"";
    let chosen =
        resolve_model_chain(&flags(&["--model", "meta-llama/L3"]), &config(only), &env(&[]));
    assert_eq!(short(&chosen.unwrap()), ["vllm@http://x/v1 meta-llama/L3"]);
}

/// Options, file, environment; exit code and message.
type Case = (
    &'static [&'static str],
    &'static str,
    &'static [(&'static str, &'static str)],
    u8,
    &'static str,
);

#[test]
fn what_stands_in_the_way_of_a_model_is_said() {
    let two = "[providers.ollama]\n[providers.local]\nkind = \"openai-compatible\"";
    let nothing = "\
no model is set up. Type: toolcrib init
It finds a key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY) or Ollama on this machine; `--model PROVIDER/MODEL` names one, and `--model scripted:FILE` replays a file.";
    assert_eq!(nothing.lines().count(), 2);
    let cases: [Case; 17] = [
        (&[], "", &[], 3, nothing),
        (&["--model", "gpt-x"], "", &[], 3, nothing),
        (
            &[],
            two,
            &[],
            3,
            "no model is named. Write --model local/MODEL, or in /etc/toolcrib/config.toml:\n[model]\ndefault = \"local/MODEL\"\nProviders that are set up: local, ollama",
        ),
        (
            &["--model", "gpt-x"],
            two,
            &[],
            2,
            "which provider has the model `gpt-x`? Write PROVIDER/gpt-x, with one of local, ollama",
        ),
        (
            &["--provider", "antropic", "--model", "m"],
            "",
            &[],
            2,
            "there is no provider `antropic`, did you mean `anthropic`?",
        ),
        (
            &["--model", "lokal/m"],
            two,
            &[],
            2,
            "there is no provider `lokal`, did you mean `local`?",
        ),
        (
            &[],
            "",
            &[("TOOLCRIB_PROVIDER", "Gemni"), ("TOOLCRIB_MODEL", "m")],
            3,
            "the environment: there is no provider `Gemni`, did you mean `gemini`?",
        ),
        (
            &[],
            "[model]\ndefault = \"olama/m\"",
            &[],
            3,
            "[model] default in /etc/toolcrib/config.toml: there is no provider `olama`, did you mean `ollama`?",
        ),
        (
            &["--provider", "xyz", "--model", "m"],
            "",
            &[],
            2,
            "there is no provider `xyz`; there are openai-chat, openai-responses, anthropic, gemini, ollama, deepseek, openai-compatible, and any id under [providers] in /etc/toolcrib/config.toml. For a model with a slash in its name add --provider",
        ),
        (
            &["--provider", "ollama"],
            "",
            &[],
            2,
            "no model of ollama is named; add --model MODEL, or `model` under [providers.ollama] in /etc/toolcrib/config.toml",
        ),
        (
            &["--provider", "openai-compatible", "--model", "m"],
            "",
            &[],
            3,
            "provider openai-compatible (openai-compatible) needs a base URL, such as http://127.0.0.1:8000/v1: give --base-url, or `base_url` in its configuration",
        ),
        (
            &["--model", "anthropic/m"],
            "",
            &[],
            3,
            "provider anthropic needs a key: set the environment variable ANTHROPIC_API_KEY, or `key` in its configuration",
        ),
        (
            &["--model", "anthropic/m"],
            "[providers.anthropic]\nkey_env = \"MINE\"",
            &[("ANTHROPIC_API_KEY", SECRET)],
            3,
            "provider anthropic: its key is taken from MINE, which is not set",
        ),
        (
            &["--model", "anthropic/m"],
            "",
            &[("ANTHROPIC_API_KEY", "sk-very-secret\nsk-0123456789")],
            3,
            "provider anthropic: ANTHROPIC_API_KEY: the key holds a character that no key has (a line break, or one that is not ASCII)",
        ),
        (
            &["--model", "ollama/"],
            "",
            &[],
            2,
            "the name of the model is empty; write PROVIDER/MODEL",
        ),
        (
            &["--model", "scripted:"],
            "",
            &[],
            2,
            "a script is named by its file: --model scripted:FILE",
        ),
        (
            &["--model", "scripted:a", "--base-url", "http://x"],
            "",
            &[],
            2,
            "a script has no server; leave out --base-url",
        ),
    ];
    for (words, file, variables, code, message) in cases {
        let failure =
            resolve_model_chain(&flags(words), &config(file), &env(variables)).unwrap_err();
        assert_eq!((failure.code, failure.message.as_str()), (code, message), "{words:?}");
    }
}

#[test]
fn a_fallback_that_cannot_be_asked_is_left_out_with_a_word() {
    let file =
        "[model]\ndefault = \"ollama/m\"\nfallback = [\"anthropic/a\", \"ollama/m\", \"ollama/n\"]";
    let chosen = resolve_model_chain(&ModelFlags::default(), &config(file), &env(&[])).unwrap();
    assert_eq!(short(&chosen), ["ollama m", "ollama n"]);
    assert_eq!(
        chosen.warnings,
        [
            "anthropic/a is not a fallback now: provider anthropic needs a key: set the environment variable ANTHROPIC_API_KEY, or `key` in its configuration"
        ]
    );
    let wrong = file.replace("ollama/n", "olama/n");
    let failure =
        resolve_model_chain(&ModelFlags::default(), &config(&wrong), &env(&[])).unwrap_err();
    assert_eq!(
        failure.message,
        "[model] fallback in /etc/toolcrib/config.toml: there is no provider `olama`, did you mean `ollama`?"
    );
}

#[test]
fn a_script_never_falls_back_to_a_real_model() {
    let file = "[model]\nfallback = [\"ollama/m\", \"scripted:b.yaml\"]";
    let chosen =
        resolve_model_chain(&flags(&["--model", "scripted:a.yaml"]), &config(file), &env(&[]));
    assert_eq!(short(&chosen.unwrap()), ["scripted:a.yaml", "scripted:/etc/toolcrib/b.yaml"]);
}

#[test]
fn a_key_in_the_environment_sets_a_provider_up_once() {
    let all = [
        ("OPENAI_API_KEY", "a"),
        ("ANTHROPIC_API_KEY", "b"),
        ("GEMINI_API_KEY", "c"),
        ("DEEPSEEK_API_KEY", "d"),
    ];
    let ids = |file: &str, variables: &[(&str, &str)]| -> Vec<String> {
        let entries = list_providers(&config(file), &env(variables)).unwrap();
        entries.into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(ids("", &all), ["openai-responses", "anthropic", "gemini", "deepseek"]);
    assert_eq!(ids("", &[("GEMINI_API_KEY", "")]), [""; 0]);
    let mine = "[providers.mine]\nkind = \"openai-chat\"\n[providers.anthropic]";
    assert_eq!(ids(mine, &all), ["anthropic", "mine", "gemini", "deepseek"]);
}

#[test]
fn a_key_file_is_read_to_its_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let file = |key_file: &str| {
        let text = format!("[providers.gemini]\nkey_file = \"{key_file}\"");
        let mut config = parse(&path, &text).unwrap();
        config.path.clone_from(&path);
        resolve_model_chain(
            &flags(&["--model", "gemini/m"]),
            &config,
            &env(&[("HOME", "/nowhere")]),
        )
    };
    let key = folder.path().join("key");
    std::fs::write(&key, format!("{SECRET}\nsecond line\n")).unwrap();
    set_mode(&key, 0o600);
    let chosen = file("key").unwrap();
    let ModelChoice::Live { provider, .. } = &chosen.models[0] else { panic!() };
    assert_eq!(provider.key.as_ref().map(ToString::to_string).as_deref(), Some("…6789"));
    assert_eq!(chosen.warnings, [""; 0]);

    set_mode(&key, 0o644);
    let shown = key.display();
    if cfg!(unix) {
        let warning = format!("others can read the key file {shown}; chmod 600 {shown}");
        assert_eq!(file("key").unwrap().warnings, [warning]);
    }
    let wrong = |key_file: &str, end: &str| {
        let failure = file(key_file).unwrap_err();
        assert_eq!(failure.code, 3);
        assert!(failure.message.contains("provider gemini"), "{}", failure.message);
        assert!(failure.message.contains(end), "{}", failure.message);
    };
    wrong("none", "none cannot be used: ");
    wrong(".", "cannot be used: it is not a regular file");
    wrong("~/key", "its key file /nowhere/key cannot be used");
    std::fs::write(&key, "x".repeat(64 * 1024 + 1)).unwrap();
    wrong("key", "cannot be used: it is larger than 65536 bytes");
    std::fs::write(&key, "\n").unwrap();
    wrong("key", "the key is empty");
    std::fs::write(&key, b"\xff\xfe").unwrap();
    wrong("key", "cannot be used: ");
}

fn set_mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
}

#[test]
fn the_file_is_found_and_may_be_missing_unless_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let at_home = env(&[("TOOLCRIB_HOME", home)]);
    assert_eq!(load(&at_home).unwrap().path, folder.path().join("config.toml"));
    std::fs::write(folder.path().join("config.toml"), "[agent]\ndefault = \"a\"").unwrap();
    assert_eq!(load(&at_home).unwrap().agent.default.as_deref(), Some("a"));

    let named = |name: &str| {
        let path = folder.path().join(name);
        load(&env(&[("TOOLCRIB_HOME", home), ("TOOLCRIB_CONFIG", path.to_str().unwrap())]))
    };
    let failure = named("other.toml").unwrap_err();
    assert_eq!(failure.code, 3);
    assert!(failure.message.contains("other.toml cannot be read: "), "{}", failure.message);
    std::fs::write(folder.path().join("other.toml"), "[agent]\ndefault = \"b\"").unwrap();
    assert_eq!(named("other.toml").unwrap().agent.default.as_deref(), Some("b"));
    let failure = named(".").unwrap_err();
    assert!(failure.message.ends_with("it is not a regular file"), "{}", failure.message);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_an_error_without_its_content() {
    use std::os::unix::ffi::OsStringExt as _;
    let odd = OsString::from_vec(b"sk-\xff".to_vec());
    let env: Env = [("GEMINI_API_KEY".into(), odd)].into_iter().collect();
    let failure = resolve_model_chain(&ModelFlags::default(), &config(""), &env).unwrap_err();
    assert_eq!(failure.message, "the variable GEMINI_API_KEY is not UTF-8 text");
}

/// A file in which every secret is [`SECRET`].
const SECRETS: &str = r#"
[model]
default = "acme/m"

[providers.acme]
kind = "openai-compatible"
base_url = "http://127.0.0.1:1/v1"
key = "sk-very-secret-0123456789"
headers = { Authorization = "sk-very-secret-0123456789" }
retries = 2

[tools.mail.config]
password = "sk-very-secret-0123456789"
"#;

/// Returns everything that could be printed of a file.
fn printed(text: &str) -> String {
    let shown = |failure: Failure| format!("{} {failure:?}", failure.message);
    let mut config = match parse(Path::new("c.toml"), text) {
        Err(failure) => return shown(failure),
        Ok(config) => config,
    };
    config.path = "c.toml".into();
    let env = env(&[("ANTHROPIC_API_KEY", SECRET)]);
    let chosen = resolve_model_chain(&ModelFlags::default(), &config, &env);
    let entries = list_providers(&config, &env).map(|entries| format!("{entries:?}"));
    let entries = entries.unwrap_or_else(shown);
    let chosen = chosen.map_or_else(shown, |chosen| format!("{chosen:?}"));
    format!("{config:?} {entries} {chosen} {env:?}")
}

#[test]
fn a_whole_configuration_prints_no_secret() {
    let printed = printed(SECRETS);
    assert!(printed.contains("acme") && printed.contains("password"), "{printed}");
    assert!(!printed.contains("very-secret"), "{printed}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_panics(text in "\\PC{0,120}") {
        let _ = parse(Path::new("c.toml"), &text);
    }

    /// A typo in a file never makes an output contain a secret value.
    #[test]
    fn no_slip_of_the_pen_prints_a_secret(
        at in 0..SECRETS.len(),
        cut in 0..3usize,
        with in "[=\"'\\[\\]{}.,# \n\\\\a-z0-9]{0,3}",
    ) {
        let mut text = SECRETS.to_owned();
        text.replace_range(at..(at + cut).min(text.len()), &with);
        let printed = printed(&text);
        prop_assert!(!printed.contains("very-secret"), "{}", printed);
    }

    #[test]
    fn units_never_panic(text in "\\PC{0,30}") {
        let _ = (crate::config::duration_and_money::parse_duration(&text), crate::config::duration_and_money::parse_micro_usd(&text));
        let _ = text.parse::<OnAsk>();
    }
}
