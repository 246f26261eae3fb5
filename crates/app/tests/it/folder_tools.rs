//! External tools in a real Toolcrib: broken definitions, approvals, results, secrets, time limits,
//! reloading.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::{Preset, ToolFolder};
use toolcrib_builtins::external_tools::ExternalToolSource;
use toolcrib_core::{
    Answer, Batch, Block, Call, Context, Decision, Effect, GrantScope, Invoker as _, Origin,
    Outcome, OutcomeKind, Risk, RunLimits, Status,
};
use toolcrib_testkit::ScriptedApprover;

use crate::fixture::{Fixture, FixtureBuilder};

/// A folder of tools beside the workspace.
struct Folder(TempDir);

const SAFE: &str = "description = \"A tool for tests.\"\nrisk = \"safe\"\neffect = \"pure\"\n";

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn tool(&self, name: &str, definition: &str, script: &str) -> &Self {
        fs::create_dir_all(self.at(name)).unwrap();
        fs::write(self.at(name).join("tool.toml"), definition).unwrap();
        let program = self.at(name).join("run");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn source(&self) -> ExternalToolSource {
        ExternalToolSource::new("mine", self.0.path())
    }

    fn start(&self) -> FixtureBuilder {
        let source = self.source();
        FixtureBuilder::new().with(|builder| builder.source(source))
    }
}

async fn outcome(w: &Fixture, name: &str, args: Value) -> Outcome {
    let batch = Batch::new(Origin::Model, vec![Call::new(name, args)]);
    done(w.engine().invoke(batch).await.remove(0))
}

fn done(answer: Answer) -> Outcome {
    match answer {
        Answer::Done(outcome) => *outcome,
        Answer::Suspended(request) => panic!("suspended: {request:?}"),
    }
}

#[tokio::test]
async fn broken_tools_are_rows_with_a_reason_and_the_others_work() {
    let folder = Folder::new();
    folder
        .tool("good", SAFE, "echo fine")
        .tool("bad_toml", "description = ", "")
        .tool("bad_key", "descripton = \"x\"", "")
        .tool("bad_schema", &format!("{SAFE}parameters = '{{\"type\": \"object\", \"properties\": {{\"x\": {{\"type\": \"text\"}}}}}}'"), "")
        .tool("bad_pattern", &format!("{SAFE}parameters = {{ x = {{ pattern = \"(?=a)\" }} }}"), "")
        .tool("no_program", &format!("{SAFE}command = [\"./missing\"]"), "")
        .tool("not_executable", SAFE, "")
        .tool("read_file", SAFE, "echo an impostor");
    let mode = fs::Permissions::from_mode(0o644);
    fs::set_permissions(folder.at("not_executable/run"), mode).unwrap();
    let w = folder.start().file("a.txt", "the real one").open().await;
    let rows: Vec<(String, String)> = w
        .toolcrib
        .infos()
        .into_iter()
        .filter(|info| info.source == "mine")
        .map(|info| match info.status {
            Status::Error { reason } => (info.id.to_string(), reason),
            other => (info.id.to_string(), format!("{other:?}")),
        })
        .collect();
    let wanted = [
        ("bad_key", "did you mean \"description\"?"),
        ("bad_pattern", "look-around"),
        ("bad_schema", "not valid JSON Schema at \"/properties/x/type\""),
        ("bad_toml", "tool.toml line 1"),
        ("good", "System"),
        ("no_program", "\"./missing\" does not exist"),
        ("not_executable", "chmod +x ./run"),
        ("mine__read_file", "source \"builtin\" already has a tool"),
    ];
    assert_eq!(rows.len(), wanted.len(), "{rows:?}");
    for ((name, reason), (row, words)) in rows.iter().zip(wanted) {
        assert!(name == row && reason.contains(words), "{name}: {reason}");
    }
    assert_eq!(w.call("good", json!({})).await["result"], "fine");
    let real = w.call("read_file", json!({"path": "a.txt"})).await;
    assert!(real["result"].as_str().unwrap().contains("the real one"));
    let broken = w.call("bad_key", json!({})).await;
    assert_eq!(broken["error_type"], "tool_not_available");
    let text = broken["message"].as_str().unwrap();
    assert!(text.contains("broken: tool.toml: unknown key"), "{text}");
}

#[tokio::test]
async fn a_tool_that_declares_nothing_is_asked_for_and_the_question_shows_the_isolation() {
    let folder = Folder::new();
    folder.tool("plain", "description = \"Does something.\"", ": > ran");
    let denied = folder.start().call("plain", json!({})).await;
    assert_eq!(denied["error_type"], "approval_denied");
    assert!(!folder.at("plain/ran").exists());
    let approver = Arc::new(ScriptedApprover::approving(1));
    let w = folder.start().asking(&approver).open().await;
    assert_eq!(w.call("plain", json!({})).await["outcome"], "succeeded");
    assert_eq!(approver.asked()[0].summary, "run ./run of the tool plain, isolation none");
    assert!(folder.at("plain/ran").exists());
}

#[tokio::test]
async fn a_tool_of_a_workspace_is_asked_for_whatever_it_says_of_itself() {
    let folder = Folder::new();
    folder.tool("plain", SAFE, "echo fine");
    let of = |theirs: bool| {
        let mine = ToolFolder::new("workspace", folder.0.path());
        let tools = if theirs { mine.untrusted() } else { mine };
        FixtureBuilder::new().settings(|settings| settings.tool_folders = vec![tools])
    };
    assert_eq!(of(true).call("plain", json!({})).await["error_type"], "approval_denied");
    assert_eq!(of(false).call("plain", json!({})).await["outcome"], "succeeded");
    let w = of(true).approving(1).open().await;
    assert_eq!(w.call("plain", json!({})).await["outcome"], "succeeded");
    assert_eq!(w.toolcrib.spec("plain").unwrap().risk, Risk::Critical);
}

#[tokio::test]
async fn a_tool_of_unknown_origin_is_asked_for_under_auto_whatever_the_owner_says_of_its_name() {
    let folder = Folder::new();
    folder.tool("plain", &format!("{SAFE}group = \"files\"\nreach = []\n"), "echo fine");
    let source = folder.source().untrusted();
    let lifted =
        FixtureBuilder::new().with(|builder| builder.source(source)).settings(|settings| {
            settings.engine.preset = Preset::Auto;
            settings.engine.tools.entry("plain".to_owned()).or_default().ask = Some(false);
        });
    let w = lifted.open().await;
    assert_eq!(w.call("plain", json!({})).await["error_type"], "approval_denied");
    let spec = w.toolcrib.spec("plain").unwrap();
    assert_eq!((spec.effect, spec.group.as_deref()), (Effect::SideEffect, None));
    assert!(spec.reach.outbound && spec.reach.exec);
}

#[tokio::test]
async fn configured_values_never_reach_a_foreign_tool_that_takes_a_name() {
    let folder = Folder::new();
    folder.tool(
        "keyed",
        &format!("{SAFE}[config.WEATHER_KEY]\nsecret = true"),
        "echo $WEATHER_KEY",
    );
    let of = |theirs: bool| {
        let mine = ToolFolder::new("workspace", folder.0.path());
        let tools = if theirs { mine.untrusted() } else { mine };
        FixtureBuilder::new().approving(1).settings(|settings| {
            settings.tool_folders = vec![tools];
            let config = &mut settings.engine.tools.entry("keyed".to_owned()).or_default().config;
            config.insert("WEATHER_KEY".to_owned(), "s3cr3t-value".to_owned());
        })
    };
    assert_eq!(of(false).call("keyed", json!({})).await["outcome"], "succeeded");
    let theirs = of(true).call("keyed", json!({})).await;
    assert_eq!(theirs["error_type"], "not_configured", "{theirs}");
    assert!(theirs["message"].as_str().unwrap().contains("not declared trusted"), "{theirs}");
}

#[tokio::test]
async fn an_approval_for_ever_ends_with_the_program_it_was_given_for() {
    for command in ["", "command = [\"sh\", \"script.sh\"]\n"] {
        let folder = Folder::new();
        folder.tool("plain", &format!("description = \"x\"\n{command}"), "echo old");
        fs::write(folder.at("plain/script.sh"), "echo old").unwrap();
        let (always, once) = (GrantScope::Always, GrantScope::Once);
        let decisions = [always, once].map(Decision::approve_for);
        let approver = Arc::new(ScriptedApprover::deciding(decisions));
        let source = folder.source();
        let w = folder.start().asking(&approver).open().await;
        for _ in 0..2 {
            assert_eq!(w.call("plain", json!({})).await["result"], "old");
        }
        assert_eq!(approver.asked().len(), 1, "the grant answers");
        let before = source.fingerprint();
        let file = if command.is_empty() { "plain/run" } else { "plain/script.sh" };
        fs::write(folder.at(file), "#!/bin/sh\necho new\n").unwrap();
        // The new version is not loaded yet, so the program differs from the approved one.
        let stale = w.call("plain", json!({})).await;
        assert_eq!(stale["error_type"], "tool_not_available", "{stale}");
        assert_ne!(source.fingerprint(), before, "{file}");
        w.toolcrib.catalog().attach(&source).await.unwrap();
        assert_eq!(w.call("plain", json!({})).await["result"], "new");
        assert_eq!(approver.asked().len(), 2, "the changed program is asked about");
    }
}

#[tokio::test]
async fn a_tool_of_a_folder_is_never_innate() {
    let folder = Folder::new();
    folder.tool("plain", SAFE, "echo fine");
    let w =
        folder.start().settings(|settings| settings.engine.preset = Preset::AskAll).open().await;
    assert_eq!(w.call("plain", json!({})).await["error_type"], "approval_denied");
}

#[tokio::test]
async fn people_see_the_card_and_the_model_reads_the_text() {
    let folder = Folder::new();
    folder
        .tool("card", SAFE, r#"echo '{"text": "21 degrees", "html": "<b>21</b>"}'"#)
        .tool("wrong", SAFE, r#"echo '{"html": "<b>", "error": "No such city: Gratz"}'"#)
        .tool("picture", SAFE, r#"echo '{"content": [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="}]}'"#);
    let w = folder.start().open().await;
    let card = outcome(&w, "card", json!({})).await;
    assert!(!card.to_wire().to_string().contains("<b>"), "{}", card.to_wire());
    let result = card.result.unwrap();
    assert_eq!(result.result, "21 degrees");
    assert_eq!(result.for_people, [Block::Html { html: "<b>21</b>".to_owned() }]);
    let wrong = outcome(&w, "wrong", json!({})).await;
    assert!(wrong.is_error());
    let wrong = wrong.result.unwrap();
    assert_eq!((wrong.result, wrong.for_people), (json!("No such city: Gratz"), Vec::new()));
    let picture = outcome(&w, "picture", json!({})).await.result.unwrap();
    let [Block::Image(image)] = picture.media.as_slice() else { panic!("{picture:?}") };
    assert_eq!((&*image.media_type, image.data.len()), ("image/png", 8));
}

#[tokio::test]
async fn configured_values_reach_the_program_and_are_masked_in_what_it_says() {
    let folder = Folder::new();
    let definition = format!("{SAFE}[config.WEATHER_KEY]\nsecret = true");
    let script = "echo \"${#WEATHER_KEY} $WEATHER_KEY\"";
    folder.tool("keyed", &definition, script);
    let missing = folder.start().call("keyed", json!({})).await;
    assert_eq!(missing["error_type"], "not_configured");
    let key = ("WEATHER_KEY".to_owned(), "s3cr3t-value".to_owned());
    let source = folder.source().with_config([("keyed".to_owned(), [key.clone()].into())].into());
    let w = FixtureBuilder::new()
        .with(|builder| builder.source(source))
        .settings(|settings| {
            settings.engine.tools.entry("keyed".to_owned()).or_default().config.extend([key]);
        })
        .open()
        .await;
    let said = w.call("keyed", json!({})).await["result"].to_string();
    assert!(said.contains("12 ") && !said.contains("s3cr3t"), "{said}");
}

#[tokio::test]
async fn the_program_is_told_of_its_call() {
    let folder = Folder::new();
    folder.tool("told", SAFE, "printf '[%s]' \"$TOOLCRIB_CONTEXT\"");
    let w = folder.start().open().await;
    let run = w.run(RunLimits::default());
    let context = Context { conversation: "conv_7".to_owned(), ..Context::default() };
    let call = Call::new("told", json!({}));
    let id = call.id;
    let batch = Batch {
        run: Some(run),
        context: Arc::new(context),
        ..Batch::new(Origin::Model, vec![call])
    };
    let told = done(w.engine().invoke(batch).await.remove(0)).result.unwrap().result;
    let wanted = json!([{
        "run": run.to_string(), "call": id.to_string(), "conversation": "conv_7",
        "topic": null, "workspace": null, "locale": null, "agent": null
    }]);
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn a_flood_is_cut_for_the_model_and_kept_whole() {
    let folder = Folder::new();
    folder.tool(
        "flood",
        SAFE,
        "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last",
    );
    let w = folder.start().open().await;
    let result = outcome(&w, "flood", json!({})).await.result.unwrap();
    let text = result.result.as_str().unwrap().to_owned();
    assert!(text.chars().count() <= 20_000 && text.contains("first\nx") && text.ends_with("last"));
    let artifact = result.artifact.expect("the whole is kept").to_string();
    let page = w.call("read_artifact", json!({"ref": artifact, "offset": 199_990})).await;
    assert!(page["result"].as_str().unwrap().contains("x\nlast"), "{page}");
}

/// Writes the ids of the program and of a child that ignores signals, then keeps running.
const STAYS: &str =
    "trap '' TERM; (trap '' TERM; sleep 600) & echo $! >child; echo $$ >leader; sleep 600";

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    if stat.is_empty() {
        let told = std::process::Command::new("kill").args(["-0", pid]).output().unwrap();
        return told.status.success();
    }
    !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X'])
}

fn pid_in(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.strip_suffix('\n')?.to_owned())
}

async fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn both_die(folder: &Folder) {
    let begun = Instant::now();
    for name in ["stays/leader", "stays/child"] {
        let pid = pid_in(&folder.at(name)).unwrap();
        until("it is dead", || !is_alive(&pid)).await;
    }
    // The process must have ended 5 s after the outcome.
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_tool_whose_time_is_over_takes_its_children_with_it() {
    let folder = Folder::new();
    // The call has side effects, so it is not retried.
    let definition = "description = \"Stays.\"\nrisk = \"safe\"\ntimeout = \"700ms\"";
    folder.tool("stays", definition, STAYS);
    let ended = folder.start().call("stays", json!({})).await;
    assert_eq!(ended["error_type"], "timeout", "{ended}");
    both_die(&folder).await;
}

#[tokio::test]
async fn a_stopped_run_takes_its_programs_with_it() {
    let folder = Folder::new();
    folder.tool("stays", SAFE, STAYS);
    let w = folder.start().open().await;
    let run = w.run(RunLimits::default());
    let stop = async {
        until("it runs", || pid_in(&folder.at("stays/leader")).is_some()).await;
        w.engine().cancel_run(run);
    };
    let (ended, ()) = tokio::join!(w.call_in(run, "stays", json!({})), stop);
    assert_eq!(ended["outcome"], "cancelled", "{ended}");
    both_die(&folder).await;
}

#[tokio::test]
async fn a_changed_folder_is_attached_again_and_calls_in_flight_finish_on_the_old_set() {
    let folder = Folder::new();
    let waits = ": > started; while [ ! -e go ]; do sleep 0.01; done; echo old";
    folder.tool("changing", SAFE, waits).tool("going", SAFE, "echo here");
    let source = folder.source();
    let w = folder.start().open().await;
    let before = source.fingerprint();
    let change = async {
        until("it runs", || folder.at("changing/started").exists()).await;
        assert_eq!(source.fingerprint(), before, "what a tool writes is not a change");
        fs::remove_dir_all(folder.at("going")).unwrap();
        // Replace the file as editors do: the running shell keeps the file that it reads.
        let new = SAFE.replace("A tool for tests.", "Another tool.");
        fs::write(folder.at("next"), "#!/bin/sh\necho new\n").unwrap();
        fs::set_permissions(folder.at("next"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(folder.at("next"), folder.at("changing/run")).unwrap();
        fs::write(folder.at("changing/tool.toml"), new).unwrap();
        assert_ne!(source.fingerprint(), before);
        w.toolcrib.catalog().attach(&source).await.unwrap();
        let fresh = w.call("changing", json!({})).await;
        fs::write(folder.at("changing/go"), "").unwrap();
        fresh
    };
    let (old, fresh) = tokio::join!(w.call("changing", json!({})), change);
    assert_eq!((&old["result"], &fresh["result"]), (&json!("old"), &json!("new")));
    assert_eq!(w.toolcrib.spec("changing").unwrap().description, "Another tool.");
    assert_eq!(w.call("going", json!({})).await["error_type"], "tool_not_found");
    // The catalog unloads the source.
    assert!(w.toolcrib.catalog().detach("mine"));
    assert_eq!(w.call("changing", json!({})).await["error_type"], "tool_not_found");
}

#[tokio::test]
async fn many_programs_run_side_by_side() {
    let folder = Folder::new();
    folder.tool("echo_it", SAFE.trim_end(), "cat");
    let text = fs::read_to_string(folder.at("echo_it/tool.toml")).unwrap();
    fs::write(
        folder.at("echo_it/tool.toml"),
        format!("{text}\nparameters = {{ n = \"integer\" }}"),
    )
    .unwrap();
    let w = folder.start().open().await;
    let calls = (0..32).map(|n| Call::new("echo_it", json!({"n": n}))).collect();
    for (n, answer) in
        w.engine().invoke(Batch::new(Origin::Model, calls)).await.into_iter().enumerate()
    {
        let outcome = done(answer);
        assert_eq!(outcome.kind, OutcomeKind::Succeeded);
        assert_eq!(outcome.result.unwrap().result, json!({"n": n}));
    }
}
