//! Options, variables, files: which of them applies, and the settings that they must not contain.

use serde_json::{Value, json};

use crate::support::{self, TestEnv, end};

/// Writes a person's own file.
fn own(env: &TestEnv, text: &str) {
    env.own("config.toml", text);
}

/// Writes the file of the workspace.
fn project(env: &TestEnv, text: &str) {
    env.write(".toolcrib/config.toml", text);
}

/// Trusts the workspace, in addition to the other content of the person's file.
fn trusting(env: &TestEnv, text: &str) {
    own(env, &format!("trusted_workspaces = [{:?}]\n{text}", env.root()));
}

/// Runs the binary with variables, which also name the managed file.
#[track_caller]
fn with(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> support::Ended {
    let mut command = env.command(args);
    command.envs(variables.iter().copied());
    end(command, b"")
}

/// Returns the output of `config get KEY`.
#[track_caller]
fn get(env: &TestEnv, key: &str) -> String {
    env.run(&["config", "get", key]).code(0).stdout.trim_end().to_owned()
}

fn delete(env: &TestEnv) -> i32 {
    env.call("delete_file", &json!({"path": "notes.md"}), &[]).1
}

#[test]
fn the_stronger_layer_holds_and_every_value_knows_its_place() {
    let env = TestEnv::new();
    trusting(
        &env,
        "policy = \"auto\"\n[limits]\ncalls = 1\nrounds = 2\n[agent]\ndefault = \"a\"\n",
    );
    project(&env, "[limits]\ncalls = 10\nrounds = 20\n");
    let list = |args: &[&str], variables: &[(&str, &str)]| -> Vec<Value> {
        let args = [&["config", "list", "--json"], args].concat();
        let ended = with(&env, &args, variables).code(0);
        support::json(&ended.stdout).as_array().unwrap().clone()
    };
    let rows = list(&["--policy", "locked"], &[("TOOLCRIB_LIMITS__CALLS", "100")]);
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap().clone();
    let user = env.outside().join("home/config.toml");
    let check = |key: &str, value: Value, layer: &str, origin: String| {
        let row = row(key);
        assert_eq!((&row["value"], &row["layer"]), (&value, &json!(layer)), "{row}");
        assert_eq!(row["origin"], json!(origin), "{row}");
    };
    check("policy", json!("locked"), "flag", "--policy".to_owned());
    check("limits.calls", json!(100), "environment", "TOOLCRIB_LIMITS__CALLS".to_owned());
    check("limits.rounds", json!(20), "project", "./.toolcrib/config.toml:3".to_owned());
    check("agent.default", json!("a"), "user", format!("{}:7", user.display()));

    let text = env.run(&["config", "list", "--show-origin"]).code(0).stdout;
    let line = format!("policy = \"auto\"  # user {}:2\n", user.display());
    assert!(text.contains(&line), "{text}");
    let text = with(&env, &["config", "list", "--show-origin"], &[("TOOLCRIB_POLICY", "ask-all")]);
    assert!(
        text.stdout.contains("policy = \"ask-all\"  # environment TOOLCRIB_POLICY"),
        "{text:?}"
    );
    let all = env.run(&["config", "list", "--all"]).code(0).stdout;
    assert!(all.contains("limits.time = \"3600s\"\n"), "{all}");
    assert!(all.contains("# limits.tokens is not set: no limit\n"), "{all}");
}

#[test]
fn values_that_are_set_one_by_one_are_one_configuration() {
    let env = TestEnv::new();
    trusting(&env, "[tools.delete_file]\nask = false\ntimeout = \"5s\"\n");
    assert_eq!(delete(&env), 0, "the person says never to ask");
    env.write("notes.md", "again");
    project(&env, "[tools.delete_file]\nask = true\n");
    assert_eq!(delete(&env), 5, "the project of the person's own says to ask");
    assert_eq!(get(&env, "tools.delete_file.timeout"), "5s");
    assert_eq!(
        get(&env, "tools.delete_file"),
        "tools.delete_file.ask = true\ntools.delete_file.timeout = \"5s\""
    );
}

#[test]
fn another_name_of_a_tool_is_the_same_tool() {
    let env = TestEnv::new();
    own(&env, "[tools.web_fetch]\nenabled = false\n");
    let (reply, _) = env.call("fetch_url", &json!({"url": "http://127.0.0.1:1/"}), &[]);
    assert_eq!(reply["error_type"], "tool_disabled", "{reply}");
    // The stricter value applies under either name.
    own(&env, "[tools.web_fetch]\nenabled = false\n[tools.fetch_url]\nenabled = true\n");
    let (reply, _) = env.call("web_fetch", &json!({"url": "http://127.0.0.1:1/"}), &[]);
    assert_eq!(reply["error_type"], "tool_disabled", "{reply}");
}

#[test]
fn a_workspace_that_is_not_trusted_only_tightens() {
    let env = TestEnv::new();
    own(&env, "policy = \"auto\"\n[limits]\ncalls = 5\n");
    project(
        &env,
        "policy = \"ask-all\"\non_ask = \"wait:1h\"\n[limits]\ncalls = 500\n[permissions]\nnetwork = \"denied\"\n[tools.write_file]\nenabled = false\ntimeout = \"1h\"\n[[hooks]]\nevent = \"guard\"\ncommand = \"touch pwned\"\n",
    );
    let args = ["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"];
    let ended = env.run(&args).code(5);
    assert_eq!(env.names(), [".toolcrib", "notes.md"], "its hook does not run");
    let said = "sets hooks, limits.calls, on_ask, tools.write_file.timeout, which only a trusted workspace may";
    assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("toolcrib trust "), "{ended:?}");
    assert_eq!(get(&env, "policy"), "ask-all");
    assert_eq!(get(&env, "limits.calls"), "5");
    let (reply, _) = env.call("write_file", &json!({"path": "x", "content": "y"}), &[]);
    assert_eq!(reply["error_type"], "tool_disabled", "{reply}");
    let fetch = json!({"url": "http://127.0.0.1:1/"});
    let (reply, _) = env.call("fetch_url", &fetch, &["--policy", "auto"]);
    assert_eq!(reply["error_type"], "permission_denied", "{reply}");

    // Values that would loosen others are not applied.
    own(
        &env,
        "policy = \"locked\"\n[permissions]\nnetwork = \"denied\"\n[tools.write_file]\nenabled = false\nask = true\n",
    );
    project(
        &env,
        "policy = \"auto\"\n[permissions]\nnetwork = \"granted\"\n[permissions.workspaces.\"/\"]\nnetwork = \"granted\"\n[tools.write_file]\nenabled = true\nask = false\n",
    );
    assert_eq!(get(&env, "policy"), "locked");
    assert_eq!(get(&env, "tools.write_file.enabled"), "false");
    assert_eq!(get(&env, "tools.write_file.ask"), "true");
    let (reply, _) = env.call("fetch_url", &fetch, &["--policy", "auto"]);
    assert_eq!(reply["error_type"], "permission_denied", "{reply}");
}

#[test]
fn settings_pinned_for_the_machine_cannot_be_loosened() {
    let env = TestEnv::new();
    let managed = env.outside().join("managed.toml");
    std::fs::write(
        &managed,
        "policy = \"ask-risky\"\non_ask = \"deny\"\n[limits]\ncalls = 7\n[permissions]\nnetwork = \"denied\"\n[tools.write_file]\nenabled = false\n[tools.delete_file]\nask = true\n",
    )
    .unwrap();
    let managed = managed.to_str().unwrap();
    let more = [("TOOLCRIB_MANAGED_CONFIG", managed)];
    trusting(
        &env,
        "policy = \"auto\"\non_ask = \"fail\"\n[permissions]\nnetwork = \"granted\"\n[permissions.workspaces.\"/\"]\nnetwork = \"granted\"\n[tools.write_file]\nenabled = true\n[tools.delete_file]\nask = false\n",
    );
    project(&env, "policy = \"auto\"\n[tools.write_file]\nenabled = true\n");
    let call = |tool: &str, args: &str, flags: &[&str]| {
        let ended =
            with(&env, &[&["tool", "call", tool, "--json", "--args", args], flags].concat(), &more);
        (support::json(&ended.stdout), ended.stderr)
    };
    let delete = "{\"path\": \"notes.md\"}";
    let (reply, said) = call("delete_file", delete, &["--policy", "auto", "--on-ask", "fail"]);
    assert_eq!(reply["error_type"], "approval_denied", "denied, and not put aside: {reply}");
    let words = format!("the preset auto is not used: {managed}:1 sets ask-risky");
    assert!(said.contains(&words), "{said}");
    let (reply, _) = call("fetch_url", "{\"url\": \"http://127.0.0.1:1/\"}", &[]);
    assert_eq!(reply["error_type"], "permission_denied", "{reply}");
    let write = "{\"path\": \"x\", \"content\": \"y\"}";
    let (reply, _) = call("write_file", write, &[]);
    assert_eq!(reply["error_type"], "tool_disabled", "{reply}");
    let ended = with(&env, &["tool", "enable", "write_file"], &more);
    assert!(ended.code != 0 && ended.stderr.contains("off for everyone"), "{ended:?}");
    // A switch from before the pin does not bypass it, either.
    own(&env, "");
    env.run(&["tool", "enable", "write_file"]).code(0);
    let (reply, _) = call("write_file", write, &[]);
    assert_eq!(reply["error_type"], "tool_disabled", "{reply}");
    // Stricter values are accepted, and unpinned values are defaults.
    let get = |key: &str, more: &[(&str, &str)]| {
        with(&env, &["config", "get", key], more).code(0).stdout.trim_end().to_owned()
    };
    own(&env, "policy = \"locked\"\n[limits]\ncalls = 9\n");
    assert_eq!(get("policy", &more), "locked");
    assert_eq!(get("limits.calls", &more), "9");
    own(&env, "");
    assert_eq!((get("limits.calls", &more), get("limits.calls", &[])), ("7".into(), "500".into()));
    // A missing managed file that was named is an error.
    with(&env, &["tool", "list"], &[("TOOLCRIB_MANAGED_CONFIG", "/nowhere/x.toml")])
        .code(3)
        .says(&["/nowhere/x.toml cannot be read"]);
}

#[test]
fn a_trusted_project_still_does_not_get_the_keys() {
    let env = TestEnv::new();
    trusting(
        &env,
        "[providers.acme]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey = \"secret-of-the-person\"\n",
    );
    let cases = [
        ("trusted_workspaces = [\"/\"]", "`trusted_workspaces` cannot be set by a workspace"),
        (
            "[providers.acme]\nbase_url = \"http://evil/v1\"",
            "2: `providers.acme.base_url` cannot be set",
        ),
        ("[providers.acme]\nkey_env = \"X\"", "2: `providers.acme.key_env` cannot be set"),
        (
            "[providers.acme]\nheaders = { a = \"b\" }",
            "2: `providers.acme.headers.a` cannot be set",
        ),
        ("[providers.anthropic]\nbase_url = \"http://evil\"", "this provider is the person's"),
        (
            "[providers.mine]\nkind = \"openai-chat\"\nbase_url = \"http://evil/v1\"",
            "takes the person's key from the environment",
        ),
        (
            "[providers.mine]\nkind = \"ollama\"\nkey = { secret = \"MAIL\" }",
            "3: `providers.mine.key.secret` cannot be set",
        ),
        (
            "[providers.mine]\nkind = \"ollama\"\nkey_env = \"OPENAI_API_KEY\"",
            "would send a key of the person's elsewhere",
        ),
        (
            "[providers.mine]\nkind = \"ollama\"\nkey_file = \"~/.ssh/id_rsa\"",
            "would send a key of the person's elsewhere",
        ),
        ("[tools.web_search.config]\nurl = \"http://evil\"", "values of tools are the person's"),
    ];
    for (text, words) in cases {
        project(&env, text);
        let ended = env.run(&["tool", "list"]).code(3);
        assert!(ended.stderr.contains(words), "{text}: {ended:?}");
        assert!(!ended.stderr.contains("secret-of"), "{ended:?}");
    }
    project(
        &env,
        "[providers.acme]\nmodel = \"m\"\n[providers.mine]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey = \"its-own\"\n",
    );
    env.run(&["tool", "list"]).code(0);
    assert_eq!(get(&env, "providers.acme.model"), "m");
}

#[test]
fn broken_files_stop_everything_with_their_line() {
    let cases = [
        ("polcy = \"auto\"", "1: unknown key `polcy`, did you mean `policy`?"),
        ("[limits]\ncals = 5", "2: unknown key `cals`, did you mean `calls`?"),
        ("policy = 5", "1: `policy`: expected a text in quotes"),
        ("policy = \"auto\"\npolicy = \"locked\"", "2: duplicate key"),
        (
            "[permissions]\nnetwrok = \"denied\"",
            "2: unknown permission `netwrok`, did you mean `network`?",
        ),
        ("[permissions]\nnetwork = \"maybe\"", "2: a permission is granted, ask, denied or never"),
        (
            "[permissions.agents.a]\nnetwork = 1",
            "2: `permissions.agents.a.network`: expected a text in quotes, got a whole number",
        ),
        ("[tools.a]\nenabled = \"no\"", "2: `tools.a.enabled`: expected true or false, got text"),
        ("[flags]\ndeny_x = true", "2: a flag is allow_TOOL"),
        (
            "[[hooks]]\nevent = \"before\"\ncommand = \"x\"",
            "1: unknown event `before`, did you mean `on_before_tool`?",
        ),
        ("[[hooks]]\nevent = \"guard\"", "1: missing field `command`"),
        ("[[hooks]]\nevent = \"guard\"\ncommand = []", "1: `command` names no program"),
        (
            "[[hooks]]\nevent = \"guard\"\ncommand = 5",
            "expected [\"PROGRAM\", \"ARGUMENT\"…] or a line for the shell",
        ),
        (
            "[[hooks]]\nevent = \"guard\"\ncommand = \"x\"\ntimeout = \"3s\"",
            "1: a hook of guard has at most 2 s",
        ),
        (
            "[[hooks]]\nevent = \"on_after_tool\"\ncommand = \"x\"\ntimeout = \"11s\"",
            "1: a hook of on_after_tool has at most 10 s",
        ),
        (
            "[[hooks]]\nevent = \"guard\"\ncommand = \"x\"\nmatcher = \"Bash(git *)\"",
            "1: `Bash(git *)` matches no tool",
        ),
        (
            "[[hooks]]\nevent = \"guard\"\ncommand = \"x\"\nmacher = \"a\"",
            "unknown key `macher`, did you mean `matcher`?",
        ),
        (
            "[[hooks]]\nevent = \"guard\"\ncommand = \"x\"\nname = \"a\\nb\"",
            "1: `name` has 1 to 60",
        ),
        ("x = [", "1: "),
    ];
    for (text, words) in cases {
        for is_project in [false, true] {
            let env = TestEnv::new();
            if is_project {
                project(&env, text);
            } else {
                own(&env, text);
            }
            let ended =
                env.run(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]);
            assert_eq!(ended.code, 3, "{text}: {ended:?}");
            assert_eq!(ended.stdout, "", "{text}");
            assert!(ended.stderr.contains(words), "{text}: {ended:?}");
            assert!(ended.stderr.contains("config.toml:"), "{text}: {ended:?}");
        }
    }
}

#[test]
fn broken_variables_are_named_without_their_value() {
    let env = TestEnv::new();
    let cases = [
        (
            "TOOLCRIB_LIMTS__CALLS",
            "secret-5",
            "there is no section `limts`, did you mean `limits`?",
        ),
        ("TOOLCRIB_LIMITS__CALS", "5", "unknown key `cals`, did you mean `calls`?"),
        ("TOOLCRIB_LIMITS__CALLS", "secret-many", "expected a whole number, got text"),
        ("TOOLCRIB_LIMITS____CALLS", "5", "it is not a key"),
        ("TOOLCRIB_HOOKS__X", "5", "there is no section `hooks`"),
        ("TOOLCRIB_ON_ASK", "perhaps", "is none of deny, fail, wait:DURATION"),
    ];
    for (name, value, words) in cases {
        let ended = with(&env, &["config", "list"], &[(name, value)]).code(3);
        assert!(ended.stderr.contains(name) && ended.stderr.contains(words), "{ended:?}");
        assert!(!ended.stderr.contains("secret-"), "{ended:?}");
    }
    let variables =
        [("TOOLCRIB_TOOLS__READ_FILE__ASK", "true"), ("TOOLCRIB_MODEL__STREAM", "false")];
    let ended = with(&env, &["config", "list"], &variables).code(0);
    assert_eq!(ended.stdout, "model.stream = false\ntools.read_file.ask = true\n");
}

#[test]
fn a_slip_of_the_pen_in_the_name_of_a_tool_leaves_nothing_open() {
    let env = TestEnv::new();
    let read = ["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"];
    own(&env, "\n[tools.delete_fiel]\nenabled = false\n");
    env.run(&read)
        .code(3)
        .says(&["config.toml:2: there is no tool delete_fiel, did you mean delete_file?"]);
    env.run(&["config", "check"]).code(3).says(&["did you mean delete_file?"]);
    // A tool of another workspace, or one that only gets more time, does not count as a typo.
    own(&env, "[tools.delete_fiel]\ntimeout = \"5s\"\n[tools.weather_at_home]\nenabled = false\n");
    env.run(&read).code(0);
    env.run(&["config", "check"]).code(0).says(&[
        "there is no tool delete_fiel, did you mean delete_file?",
        "there is no tool weather_at_home here",
    ]);
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_said_by_check() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    env.own("key", "sk-very-secret\n");
    own(
        &env,
        "[providers.gemini]\nkey_file = \"key\"\n[providers.openai-chat]\nkey_file = \"none\"\n",
    );
    let path = env.outside().join("home/key");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ended = env.run(&["config", "check"]).code(0).says(&[
        &format!("others can read the key file {0}; chmod 600 {0}", path.display()),
        "none cannot be used",
    ]);
    assert!(!ended.stderr.contains("very-secret"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let ended = env.run(&["config", "check"]).code(0);
    assert!(!ended.stderr.contains("others can read"), "{ended:?}");
}

#[test]
fn one_file_can_be_checked_and_all_are_named() {
    let env = TestEnv::new();
    env.write("good.toml", "policy = \"auto\"\n");
    env.write("bad.toml", "\npolcy = \"auto\"\n");
    env.run(&["config", "check", "good.toml"]).code(0).says(&["the configuration is valid"]);
    env.run(&["config", "check", "bad.toml"]).code(3).says(&["bad.toml:2: unknown key `polcy`"]);
    env.run(&["config", "check", "none.toml"]).code(4);
    project(&env, "policy = \"locked\"\n");
    let rows = support::json(&env.run(&["config", "path", "--json"]).code(0).stdout);
    let layers: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["layer"].as_str().unwrap()).collect();
    assert_eq!(layers, ["managed", "user", "untrusted project"]);
    assert_eq!((&rows[1]["exists"], &rows[2]["exists"]), (&json!(false), &json!(true)));
}

#[test]
fn the_sandbox_is_the_persons_and_the_managed_file_makes_it_stricter() {
    let env = TestEnv::new();
    trusting(&env, "[sandbox]\nlevel = \"reduced\"\nnetwork = \"full\"\n");
    assert_eq!(get(&env, "sandbox.network"), "full");
    let managed = env.outside().join("managed.toml");
    std::fs::write(&managed, "[sandbox]\nlevel = \"namespace\"\nnetwork = \"none\"\n").unwrap();
    let managed = [("TOOLCRIB_MANAGED_CONFIG", managed.to_str().unwrap())];
    for (key, value) in [("sandbox.level", "namespace"), ("sandbox.network", "none")] {
        let got = with(&env, &["config", "get", key], &managed).code(0).stdout;
        assert_eq!(got.trim_end(), value);
    }
    project(&env, "[sandbox]\nwrite = [\"/\"]\n");
    let refused = env.run(&["config", "get", "sandbox.level"]).code(3);
    assert!(refused.stderr.contains("`sandbox.write` cannot be set by a workspace"), "{refused:?}");
    own(&env, "");
    let ignored = env.run(&["config", "list"]).code(0);
    assert!(!ignored.stdout.contains("sandbox"), "{ignored:?}");
}
