//! Operator actions on a running Toolcrib: kill switch, stored switches, reconfiguration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::hooks::{CommandHook, GUARD_TIME, HookEvent};
use toolcrib_app::rules::{Layer, RuleSet, RuleSource, RuleText};
use toolcrib_app::{
    KillSwitchFile, KillSwitchState, PermissionChoice, PermissionTable, Settings, SetupError,
    SwitchTarget, ToolFolder, Toolcrib,
};
use toolcrib_core::{
    Answer, Batch, Call, CallId, ErrorType, Invoker as _, Origin, OutcomeKind, Permission,
    PermissionState, RawArgs, RunSpec, Switch, SwitchState, Verdict,
};
use toolcrib_store::vault::{Secret, Vault};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::fixture::FixtureBuilder;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::write(dir.path().join("work/a.txt"), "one\n").unwrap();
        Self { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.at("work"), self.at("state"));
        settings.database = Some(self.at("state/toolcrib.db"));
        fs::create_dir_all(self.at("state")).unwrap();
        settings
    }

    async fn open(&self) -> Toolcrib {
        Toolcrib::builder(self.settings()).build().await.unwrap()
    }

    fn script(&self, path: &str, text: &str) -> String {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }
}

async fn call(toolcrib: &Toolcrib, name: &str, args: Value) -> (OutcomeKind, String) {
    let answer = toolcrib.call(name, RawArgs::Value(args), Origin::Model).await.unwrap();
    let Answer::Done(outcome) = answer else { panic!("{answer:?}") };
    let words = match &outcome.result {
        Ok(result) => result.result.to_string(),
        Err(error) => format!("{}: {}", error.error_type, error.message),
    };
    (outcome.kind, words)
}

async fn read(toolcrib: &Toolcrib) -> (OutcomeKind, String) {
    call(toolcrib, "read_file", json!({"path": "a.txt"})).await
}

async fn stored(toolcrib: &Toolcrib, name: &str, state: SwitchState) {
    let (owner, by) = (String::new(), "ann".to_owned());
    let switch = Switch { owner, name: name.to_owned(), state, by, at: 1 };
    toolcrib.stores().switches.set_switch(switch).await.unwrap();
}

#[tokio::test]
async fn the_file_stops_every_process_of_its_state_folder_at_its_next_call() {
    let place = Place::new();
    let (one, other) = (place.open().await, place.open().await);
    assert_eq!(read(&one).await.0, OutcomeKind::Succeeded);
    one.kill_switch().engage("ann").unwrap();
    for toolcrib in [&one, &other, &place.open().await] {
        assert!(!toolcrib.engine().tools_enabled());
        let (kind, words) = read(toolcrib).await;
        assert_eq!(kind, OutcomeKind::Denied);
        assert!(words.starts_with("tools_disabled: Tools are disabled."), "{words}");
        assert!(
            words.contains("stopped by ann;") && words.contains("toolcrib start-tools"),
            "{words}"
        );
    }
    assert!(other.kill_switch().release().unwrap());
    assert_eq!(read(&one).await.0, OutcomeKind::Succeeded);
    // A file that a person creates has the same effect.
    fs::write(place.at("state/STOP"), "").unwrap();
    assert_eq!(read(&other).await.0, OutcomeKind::Denied);
}

#[tokio::test]
async fn the_file_and_the_row_each_stop_and_both_have_to_go() {
    let place = Place::new();
    let toolcrib = place.open().await;
    stored(&toolcrib, "tools", SwitchState::Off).await;
    assert!(toolcrib.refresh_switches().await.unwrap());
    toolcrib.kill_switch().engage("ann").unwrap();
    assert!(toolcrib.kill_switch().release().unwrap());
    assert_eq!(read(&toolcrib).await.0, OutcomeKind::Denied, "the row is left");
    toolcrib.kill_switch().engage("ann").unwrap();
    let switches = &toolcrib.stores().switches;
    assert!(switches.unset_switch("", "tools", "ann", 2).await.unwrap());
    assert!(toolcrib.refresh_switches().await.unwrap());
    assert_eq!(read(&toolcrib).await.0, OutcomeKind::Denied, "the file is left");
    toolcrib.kill_switch().release().unwrap();
    assert_eq!(read(&toolcrib).await.0, OutcomeKind::Succeeded);
}

#[tokio::test]
async fn what_is_at_work_is_stopped_unless_it_may_run_to_its_end() {
    let slow = Arc::new(ScriptedTool::new("slow").hangs());
    let world = FixtureBuilder::new().tool(&slow).open().await;
    let toolcrib = &world.toolcrib;
    let calling = toolcrib.call("slow", RawArgs::Value(json!({})), Origin::Model);
    tokio::pin!(calling);
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
    assert_eq!(toolcrib.stop_calls(), [], "tools are on");
    let kill = toolcrib.kill_switch();
    kill.engage(KillSwitchState { finish_running: true, ..KillSwitchState::from("ann") }).unwrap();
    assert_eq!(toolcrib.stop_calls(), []);
    kill.engage("ann").unwrap();
    let running: Vec<CallId> =
        toolcrib.engine().running_calls().iter().map(|call| call.call).collect();
    assert_eq!((toolcrib.stop_calls(), running.len()), (running, 1));
    let answer = calling.await.unwrap();
    assert_eq!(answer.outcome().unwrap().kind, OutcomeKind::Cancelled);
}

/// The workspace contains the state folder, as a careless configuration could have it.
#[tokio::test]
async fn no_file_tool_reaches_the_kill_switch() {
    let place = Place::new();
    let mut settings = Settings::new(place.dir.path(), place.at("state"));
    settings.engine.preset = toolcrib_app::Preset::Auto;
    settings.engine.ask_everywhere = true;
    let approver = Arc::new(toolcrib_testkit::ScriptedApprover::approving(100));
    let builder = Toolcrib::builder(settings).for_agents().approver(approver);
    let toolcrib = builder.build().await.unwrap();
    let kill = toolcrib.kill_switch().clone();
    let state = place.at("state");
    assert!(state.exists(), "the undo journal is in it");
    let stop = state.join("STOP").display().to_string();
    let mut tried = std::collections::BTreeSet::new();
    for path in ["state/STOP", &stop, "work/../state/STOP", "./state//STOP"] {
        for (tool, args) in [
            ("write_file", json!({"path": path, "content": "x"})),
            ("make_dir", json!({"path": path})),
            ("copy_path", json!({"from": "work/a.txt", "to": path})),
            ("move_path", json!({"from": "work/a.txt", "to": path})),
        ] {
            let (kind, words) = call(&toolcrib, tool, args).await;
            assert_ne!(kind, OutcomeKind::Succeeded, "{tool} {path}: {words}");
            assert!(!kill.is_engaged(), "{tool} {path}");
            tried.insert(words.split(':').next().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(tried.into_iter().collect::<Vec<_>>(), ["path_not_allowed"]);
    // The switch cannot be moved or deleted with its folder, either: no tool runs while it exists,
    // and before that, the tools cannot access the folder.
    for (tool, args) in [
        ("delete_file", json!({"path": "state", "recursive": true})),
        ("move_path", json!({"from": "state", "to": "elsewhere"})),
    ] {
        assert_ne!(call(&toolcrib, tool, args).await.0, OutcomeKind::Succeeded, "{tool}");
    }
    kill.engage("ann").unwrap();
    for info in toolcrib.infos() {
        let (kind, words) = call(&toolcrib, info.id.as_str(), json!({"path": "state/STOP"})).await;
        assert_eq!(kind, OutcomeKind::Denied, "{}", info.id);
        assert!(words.starts_with("tools_disabled"), "{}: {words}", info.id);
    }
    assert!(kill.is_engaged());
}

/// Switches and the kill switch are for people: the code of tools and of the loop does not refer to
/// them.
#[test]
fn no_tool_knows_a_word_for_a_switch() {
    const WORDS: [&str; 13] = [
        "SwitchStore",
        "set_switch",
        "unset_switch",
        "refresh_switches",
        "set_enabled",
        "set_tool_state",
        "set_tools_enabled",
        "set_group_state",
        "set_source_enabled",
        "set_tier_enabled",
        "set_feature_enabled",
        "KillSwitch",
        "reconfigure(",
    ];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut looked_at = 0;
    for of_tools in ["builtins", "agent", "sandbox", "net", "providers"] {
        let mut folders = vec![crates.join(of_tools).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let word = WORDS.iter().find(|word| text.contains(**word));
                    assert_eq!(word, None, "{}", path.display());
                    looked_at += 1;
                }
            }
        }
    }
    assert!(looked_at > 100, "{looked_at} files");
}

#[tokio::test]
async fn stored_switches_of_other_processes_are_taken_over() {
    let place = Place::new();
    let (one, other) = (place.open().await, place.open().await);
    let refreshed = async |toolcrib: &Toolcrib| toolcrib.refresh_switches().await.unwrap();
    assert!(!refreshed(&other).await, "there are none");
    stored(&one, "tool:read_file", SwitchState::Off).await;
    stored(&one, "group:no_such_group", SwitchState::Ask).await;
    stored(&one, "planet:mars", SwitchState::Off).await;
    // No call in between: it would read the switches itself if the cached ones are too old.
    assert!(refreshed(&other).await && !refreshed(&other).await);
    assert_eq!(read(&other).await.0, OutcomeKind::Denied);
    stored(&one, "tool:read_file", SwitchState::Ask).await;
    assert!(refreshed(&other).await);
    let (_, words) = read(&other).await;
    assert!(words.contains("a switch asks about every call of read_file"), "{words}");
    // A process that starts with these settings behaves the same.
    let third = place.open().await;
    assert!(read(&third).await.1.contains("a switch asks about every call of read_file"));
    let switches = &one.stores().switches;
    switches.unset_switch("", "tool:read_file", "ann", 2).await.unwrap();
    assert!(refreshed(&other).await);
    assert_eq!(read(&other).await.0, OutcomeKind::Succeeded);
}

fn denying(rule: &str) -> RuleSet {
    let text: RuleText =
        serde_json::from_value(json!({"effect": Verdict::Deny, "rule": rule})).unwrap();
    let origin = format!("rules.toml:{rule}");
    RuleSet::compile(vec![RuleSource { text, layer: Layer::User, origin }]).unwrap()
}

fn guard(command: String) -> CommandHook {
    CommandHook {
        name: "doorman".into(),
        origin: "config.toml:7".into(),
        event: HookEvent::Guard,
        matcher: "*".parse().unwrap(),
        command: vec![command],
        time: GUARD_TIME,
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
    }
}

#[tokio::test]
async fn a_run_at_work_feels_other_settings_at_its_next_call() {
    let place = Place::new();
    let toolcrib = place.open().await;
    let run = toolcrib.engine().open_run(RunSpec::default()).unwrap();
    let mut round = 0;
    let mut next = async |toolcrib: &Toolcrib| {
        round += 1;
        // Another file each time, so that no call repeats.
        fs::write(place.at(&format!("work/{round}.txt")), "one\n").unwrap();
        let args = json!({"path": format!("{round}.txt")});
        let batch = toolcrib.manual_batch(vec![Call::new("read_file", args)], Origin::Model);
        let mut answers = toolcrib.engine().invoke(Batch { run: Some(run), ..batch }).await;
        let Some(Answer::Done(outcome)) = answers.pop() else { panic!("no answer") };
        let words = outcome.result.as_ref().err().map(|error| error.message.clone());
        (outcome.kind, words.unwrap_or_default())
    };
    let none: [&str; 0] = [];
    assert_eq!(next(&toolcrib).await.0, OutcomeKind::Succeeded);
    let ruled = Settings { rules: denying("read_file"), ..place.settings() };
    assert_eq!(toolcrib.reconfigure(ruled).await.unwrap(), none);
    let (kind, words) = next(&toolcrib).await;
    assert_eq!(kind, OutcomeKind::Denied);
    assert!(words.contains("rules.toml:read_file"), "{words}");
    assert_eq!(toolcrib.rules().sources().len(), 1);

    let asked = place.at("asked");
    let program =
        place.script("doorman.sh", &format!("echo x >> {}; echo no >&2; exit 2", asked.display()));
    let hooked = Settings { hooks: vec![guard(program)], ..place.settings() };
    assert_eq!(toolcrib.reconfigure(hooked).await.unwrap(), none);
    let (kind, words) = next(&toolcrib).await;
    assert_eq!(kind, OutcomeKind::Denied);
    assert!(words.contains("doorman") && asked.exists(), "{words}");

    let mut set = place.settings();
    set.permissions.general.insert(Permission::FsRead, PermissionChoice::Denied);
    set.engine.flags.insert("allow_list_dir".into(), false);
    assert_eq!(toolcrib.reconfigure(set).await.unwrap(), none);
    assert!(next(&toolcrib).await.1.contains("Permission fs_read was denied"));
    assert!(call(&toolcrib, "list_dir", json!({})).await.1.contains("the flag allow_list_dir"));

    assert_eq!(toolcrib.reconfigure(place.settings()).await.unwrap(), none);
    assert_eq!(next(&toolcrib).await.0, OutcomeKind::Succeeded);
    assert_eq!(fs::read_to_string(&asked).unwrap().lines().count(), 1, "it is asked no more");
}

#[tokio::test]
async fn observers_follow_and_those_of_the_host_stay() {
    let place = Place::new();
    let permissions = toolcrib_engine::GrantedPermissions::default()
        .with(Permission::FsWrite, PermissionState::Denied);
    let builder = Toolcrib::builder(place.settings()).permissions(Arc::new(permissions));
    let toolcrib = builder.build().await.unwrap();
    let (first, second) = (place.at("first"), place.at("second"));
    for log in [&first, &second] {
        let program = place.script("tell.sh", &format!("cat >> {}", log.display()));
        let event = HookEvent::On(toolcrib_core::EventKind::AfterTool);
        let hook = CommandHook { event, ..guard(program) };
        let settings = Settings { hooks: vec![hook], ..place.settings() };
        toolcrib.reconfigure(settings).await.unwrap();
        assert_eq!(read(&toolcrib).await.0, OutcomeKind::Succeeded);
        assert_eq!(toolcrib.flush_hooks().await, [""; 0]);
    }
    for log in [&first, &second] {
        assert_eq!(fs::read_to_string(log).unwrap().matches("on_after_tool").count(), 1);
    }
    let mut all = PermissionTable::default();
    all.general.insert(Permission::FsWrite, PermissionChoice::Granted);
    toolcrib.reconfigure(Settings { permissions: all, ..place.settings() }).await.unwrap();
    let (_, words) = call(&toolcrib, "write_file", json!({"path": "b", "content": "x"})).await;
    assert!(words.contains("Permission fs_write was denied"), "{words}");
}

/// Creates a folder with a tool that prints its configured value.
fn folder_with_a_tool(place: &Place) -> ToolFolder {
    place.script("tools/say/run", "printf 'key is %s' \"$KEY\"");
    let definition = "description = \"Says its key.\"\nrisk = \"safe\"\neffect = \"pure\"\n[config.KEY]\nsecret = false\nrequired = true\n";
    fs::write(place.at("tools/say/tool.toml"), definition).unwrap();
    ToolFolder::new("own", place.at("tools"))
}

#[tokio::test]
async fn folders_of_tools_are_read_again_with_what_is_configured_for_them() {
    let place = Place::new();
    let folder = folder_with_a_tool(&place);
    let with = |key: &str| {
        let mut settings = place.settings();
        settings.engine.preset = toolcrib_app::Preset::Auto;
        settings.tool_folders.push(folder.clone());
        let own = settings.engine.tools.entry("say".into()).or_default();
        own.config.insert("KEY".into(), key.into());
        settings
    };
    let toolcrib = Toolcrib::builder(with("one")).build().await.unwrap();
    let said = async |toolcrib: &Toolcrib| call(toolcrib, "say", json!({})).await.1;
    assert!(said(&toolcrib).await.contains("key is one"), "{}", said(&toolcrib).await);
    toolcrib.reconfigure(with("two")).await.unwrap();
    assert!(said(&toolcrib).await.contains("key is two"), "{}", said(&toolcrib).await);
    let mut settings = with("two");
    settings.engine.tools.clear();
    toolcrib.reconfigure(settings).await.unwrap();
    assert!(said(&toolcrib).await.starts_with("not_configured"), "{}", said(&toolcrib).await);
}

#[tokio::test]
async fn what_needs_a_restart_is_named_and_stays() {
    let place = Place::new();
    let toolcrib = place.open().await;
    let check = async |change: fn(&mut Settings, &Place), named: &[&str]| {
        let mut settings = place.settings();
        change(&mut settings, &place);
        assert_eq!(toolcrib.reconfigure(settings).await.unwrap(), named);
        assert_eq!(read(&toolcrib).await.0, OutcomeKind::Succeeded);
    };
    check(|_, _| (), &[]).await;
    check(|s, place| s.roots = vec![place.dir.path().to_owned()], &["roots"]).await;
    check(|s, _| s.allow_net.push("localhost:1".into()), &["allow_net"]).await;
    check(|s, _| s.resolve.push("a.example=127.0.0.1".into()), &["resolve"]).await;
    check(|s, _| s.database = None, &["database"]).await;
    check(|s, place| s.tool_folders.push(folder_with_a_tool(place)), &["tool_folders"]).await;
    check(|s, place| s.protected.push(place.at("x")), &["protected"]).await;
    check(|s, place| s.vault = Some(Vault::in_folder(place.at("vault"))), &["vault"]).await;
    check(|s, place| (s.state, s.locale) = (place.at("other"), Some("de-AT".into())), &["state"])
        .await;
    let (kind, _) = call(&toolcrib, "say", json!({})).await;
    assert_ne!(kind, OutcomeKind::Succeeded, "a folder that nothing protects is not read");
    check(|_, _| (), &[]).await;
}

#[tokio::test]
async fn settings_that_cannot_be_used_change_nothing() {
    let place = Place::new();
    let vault = Vault::in_folder(place.at("vault"));
    vault.set(&"a".parse().unwrap(), &Secret::new("s3cr3t-value").ok().unwrap(), 1).unwrap();
    let start = Settings { vault: Some(vault.clone()), ..place.settings() };
    let toolcrib = Toolcrib::builder(start.clone()).build().await.unwrap();
    let check = async |bad: Settings| -> SetupError {
        let bad = Settings { rules: denying("read_file"), ..bad };
        let error = toolcrib.reconfigure(bad).await.unwrap_err();
        assert_eq!(read(&toolcrib).await.0, OutcomeKind::Succeeded, "{error}");
        assert!(toolcrib.rules().is_empty());
        error
    };
    let allow_net = vec!["no target at all".to_owned()];
    assert!(matches!(check(Settings { allow_net, ..start.clone() }).await, SetupError::Net(_)));
    let roots = vec![place.at("nowhere")];
    assert!(matches!(check(Settings { roots, ..start.clone() }).await, SetupError::Root(_)));
    fs::write(vault.folder().join("secrets.key"), "damaged").unwrap();
    assert!(matches!(check(start.clone()).await, SetupError::Vault(_)));
}

#[tokio::test]
async fn secrets_that_come_are_masked_and_those_that_go_stay_so() {
    let place = Place::new();
    fs::write(place.at("work/a.txt"), "old-s3cr3t and new-s3cr3t\n").unwrap();
    let vault = Vault::in_folder(place.at("vault"));
    let set = |name: &str, value: &str| {
        let value = Secret::new(value).ok().unwrap();
        vault.set(&name.parse().unwrap(), &value, 1).unwrap();
    };
    set("a", "old-s3cr3t");
    let settings = || Settings { vault: Some(vault.clone()), ..place.settings() };
    let toolcrib = Toolcrib::builder(settings()).build().await.unwrap();
    assert!(read(&toolcrib).await.1.contains("*** and new-s3cr3t"));
    vault.remove(&"a".parse().unwrap()).unwrap();
    set("b", "new-s3cr3t");
    toolcrib.reconfigure(settings()).await.unwrap();
    assert!(read(&toolcrib).await.1.contains("*** and ***"));
}

#[tokio::test]
async fn a_tool_of_a_host_keeps_its_switch_through_other_settings() {
    let tool = Arc::new(ScriptedTool::new("mine").spec(|s| s.group = Some("g".into())));
    let place = Place::new();
    let builder = Toolcrib::builder(place.settings()).source(fixed_source("host", &[&tool]));
    let toolcrib = builder.build().await.unwrap();
    let group = SwitchTarget::Group("g".into());
    stored(&toolcrib, &group.name(), SwitchState::Off).await;
    toolcrib.refresh_switches().await.unwrap();
    toolcrib.reconfigure(place.settings()).await.unwrap();
    let (kind, words) = call(&toolcrib, "mine", json!({})).await;
    assert_eq!(kind, OutcomeKind::Denied);
    assert!(words.starts_with(&ErrorType::ToolDisabled.to_string()), "{words}");
    assert!(!KillSwitchFile::in_folder(&place.at("state")).is_engaged());
}
