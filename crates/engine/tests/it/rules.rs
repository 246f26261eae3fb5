//! Rules through the pipeline: calls that run, ask or are denied, the texts of denials, and tools
//! that views exclude.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, Batch, Call, Context, Decider, Decision, ErrorType, Exclusion, GrantScope, Origin,
    OutcomeKind, Permission, Reach, ReasonKind, Risk, Verdict, ViewRequest,
};
use toolcrib_engine::rules::{Layer, MAX_COMMAND_LINE_BYTES, RuleQuery, RuleSet, RuleSource};
use toolcrib_engine::{Engine, EngineSettings, Preset};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::rules_suite::{judge_args, written};
use crate::support::{call, engine, failure, one};

fn rules(list: &[(Verdict, &str)]) -> Vec<RuleSource> {
    list.iter().map(|(effect, rule)| written(*effect, rule)).collect()
}

fn compiled(list: &[(Verdict, &str)]) -> RuleSet {
    RuleSet::compile(rules(list)).unwrap()
}

fn shell() -> ScriptedTool {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    ScriptedTool::new("shell").takes(schema).spec(|spec| {
        spec.risk = Risk::High;
        spec.reach = Reach { exec: true, ..Reach::default() };
        spec.aliases = vec!["bash".into(), "execute_shell_command".into(), "bash_manager".into()];
    })
}

fn file_tool(name: &str) -> ScriptedTool {
    let path = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"path": path, "from": path, "to": path}});
    ScriptedTool::new(name).takes(schema).spec(|spec| spec.risk = Risk::Safe)
}

use Verdict::{Allow, Ask, Deny};

#[tokio::test]
async fn a_rule_decides_in_place_of_the_preset() {
    for (rule, asks, kind) in [
        ((Allow, "Bash(ls:*)"), 0, OutcomeKind::Succeeded),
        ((Allow, "Bash(git:*)"), 1, OutcomeKind::Succeeded),
        ((Ask, "Bash(ls:*)"), 1, OutcomeKind::Succeeded),
        ((Deny, "Bash(ls:*)"), 0, OutcomeKind::Denied),
        ((Deny, "Bash(git:*)"), 1, OutcomeKind::Succeeded),
    ] {
        let approver = Arc::new(ScriptedApprover::approving(1));
        let builder =
            Engine::builder().rules(compiled(&[rule])).approver(Arc::clone(&approver) as _);
        let engine = engine(builder, &[&Arc::new(shell())]).await;
        let outcome = call(&engine, "shell", json!({"command": "ls -la"})).await;
        assert_eq!((approver.asked().len(), outcome.kind), (asks, kind), "{rule:?}");
    }
}

#[tokio::test]
async fn a_refusal_says_which_rule_which_part_and_what_would_be_allowed() {
    let mut list = rules(&[(Deny, "Bash(git push:*)"), (Allow, "Bash(git status:*)")]);
    list[0].text.reason = Some("pushing leaves this machine".into());
    list[0].origin = "rules.toml:3".into();
    let tool = Arc::new(shell());
    let engine = engine(Engine::builder().rules(RuleSet::compile(list).unwrap()), &[&tool]).await;
    let outcome = call(&engine, "shell", json!({"command": "git status && git push"})).await;
    let (kind, error_type, text) = failure(&outcome);
    assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::PolicyDenied));
    assert_eq!(
        text,
        "shell is not allowed: the rule Bash(git push:*) (rules.toml:3: pushing leaves this machine) denies it. What is denied of it: `git push`. Do not retry it. Allowed would be: Bash(git status:*)."
    );
    let ruling = outcome.report.ruling.as_ref().unwrap();
    assert_eq!((ruling.verdict, ruling.by), (Deny, Decider::Rule));
    assert_eq!(ruling.rule.as_ref().unwrap().origin, "rules.toml:3");
    assert_eq!(tool.runs(), 0);
}

#[tokio::test]
async fn a_refusal_names_no_rule_about_something_else() {
    let list = [
        (Deny, "Read(./secrets/**)"),
        (Allow, "Read(~/.zshrc)"),
        (Allow, "Read(./notes/**)"),
        (Deny, "Bash(git push:*)"),
        (Allow, "Bash(ls:*)"),
    ];
    let read = ScriptedTool::new("read_file");
    let (read, shell) = (Arc::new(read), Arc::new(shell()));
    let engine = engine(Engine::builder().rules(compiled(&list)), &[&read, &shell]).await;
    let outcome = call(&engine, "read_file", json!({"path": "./secrets/key"})).await;
    let (_, _, text) = failure(&outcome);
    assert!(text.ends_with("Do not retry it. Allowed would be: Read(./notes/**)."), "{text}");
    let outcome = call(&engine, "shell", json!({"command": "git push"})).await;
    let error = outcome.result.as_ref().unwrap_err();
    assert!(error.message.ends_with("denies it. Do not retry it."), "{}", error.message);
    assert!(error.message_for_people().ends_with("denies it."), "{error:?}");
    assert_eq!(outcome.report.ruling.as_ref().unwrap().reason, error.message_for_people());
}

#[tokio::test]
async fn a_question_says_which_rule_asks() {
    let approver = Arc::new(ScriptedApprover::approving(1));
    let builder = Engine::builder()
        .rules(compiled(&[(Ask, "Bash(git push:*)")]))
        .approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&Arc::new(shell())]).await;
    call(&engine, "shell", json!({"command": "ls; git push"})).await;
    let asked = approver.asked();
    let reason = &asked[0].reasons[0];
    assert_eq!(reason.kind, ReasonKind::Rule);
    assert_eq!(reason.rule.as_ref().unwrap().rule, "Bash(git push:*)");
    assert!(reason.text.contains("`git push`"), "{}", reason.text);
}

#[tokio::test]
async fn every_alias_is_denied_with_its_tool() {
    for rule in [
        "Bash(ls:*)",
        "shell(ls:*)",
        "bash(ls:*)",
        "bash_manager(ls:*)",
        "execute_shell_command(ls:*)",
    ] {
        for name in ["shell", "bash", "bash_manager", "execute_shell_command"] {
            let tool = Arc::new(shell());
            let engine = engine(Engine::builder().rules(compiled(&[(Deny, rule)])), &[&tool]).await;
            let outcome = call(&engine, name, json!({"command": "ls"})).await;
            assert_eq!(failure(&outcome).1, ErrorType::PolicyDenied, "{rule} {name}");
        }
    }
    // An alias that only the definition knows, with and without a specifier.
    for rule in ["look(q:*)", "find_it(q:*)", "look", "find_it"] {
        for name in ["look", "find_it"] {
            let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
            let tool = ScriptedTool::new("look").takes(schema);
            let tool = Arc::new(tool.spec(|spec| spec.aliases = vec!["find_it".into()]));
            let engine = engine(Engine::builder().rules(compiled(&[(Deny, rule)])), &[&tool]).await;
            let outcome = call(&engine, name, json!({"q": "x"})).await;
            assert_eq!(outcome.kind, OutcomeKind::Denied, "{rule} {name}");
            assert_eq!(tool.runs(), 0);
        }
    }
}

/// `read_file`, `write_file` and `delete_file` with the actions of `file_manager` that mean them.
fn managed() -> [Arc<ScriptedTool>; 3] {
    let tool = |name: &str, actions: &[&str]| {
        let aliases = actions.iter().map(|action| format!("file_manager.{action}")).collect();
        let text = json!({"type": "string"});
        let properties = json!({"path": text, "content": text, "mode": text});
        let schema =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
        Arc::new(ScriptedTool::new(name).takes(schema).spec(|spec| {
            spec.risk = Risk::Safe;
            spec.aliases = aliases;
            if name == "write_file" {
                spec.alias_args =
                    vec![("file_manager.append".to_owned(), json!({"mode": "append"}))];
            }
        }))
    };
    [
        tool("read_file", &["read"]),
        tool("write_file", &["write", "append"]),
        tool("delete_file", &["delete"]),
    ]
}

#[tokio::test]
async fn an_action_of_another_name_is_the_tool_that_it_means() {
    let tools = managed();
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    for (action, tool, rest) in [
        ("read", "read_file", json!({"path": "a"})),
        ("write", "write_file", json!({"path": "a", "content": "x"})),
        ("append", "write_file", json!({"path": "a", "mode": "append"})),
        ("delete", "delete_file", json!({"path": "a"})),
    ] {
        let mut args = rest.clone();
        args.as_object_mut().unwrap().remove("mode");
        let direct = call(&engine, &format!("file_manager.{action}"), args.clone()).await;
        args["action"] = json!(action);
        let spelled = call(&engine, "file_manager", args).await;
        for outcome in [direct, spelled] {
            assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{action}: {outcome:?}");
            assert_eq!(outcome.tool.as_ref().map(|name| name.as_str()), Some(tool));
        }
        let at = ["read_file", "write_file", "delete_file"].iter().position(|name| *name == tool);
        assert_eq!(tools[at.unwrap()].seen().last(), Some(&rest), "{action}");
    }
    for (args, text) in [
        (
            json!({"path": "a"}),
            "file_manager: action is missing. Give action as one of: append, delete, read, write.",
        ),
        (
            json!({"action": "burn"}),
            "file_manager: there is no action \"burn\". Give action as one of: append, delete, read, write.",
        ),
    ] {
        let outcome = call(&engine, "file_manager", args).await;
        let (_, error_type, message) = failure(&outcome);
        assert_eq!((error_type, message), (ErrorType::ValidationError, text));
    }
}

#[tokio::test]
async fn every_action_is_denied_with_its_tool() {
    for (action, tool) in [
        ("read", "read_file"),
        ("write", "write_file"),
        ("append", "write_file"),
        ("delete", "delete_file"),
    ] {
        let own = format!("file_manager.{action}");
        for rule in [
            tool.to_owned(),
            format!("{tool}(**)"),
            own.clone(),
            format!("{own}(a)"),
            "file_manager".to_owned(),
            "file_manager(a)".to_owned(),
        ] {
            for name in [tool, own.as_str(), "file_manager"] {
                let tools = managed();
                let builder = Engine::builder().rules(compiled(&[(Deny, &rule)]));
                let engine = engine(builder, &tools.each_ref()).await;
                let mut args = json!({"path": "a"});
                if name == "file_manager" {
                    args["action"] = json!(action);
                }
                let outcome = call(&engine, name, args).await;
                assert_eq!(outcome.kind, OutcomeKind::Denied, "{rule} {name} {action}");
                assert!(tools.iter().all(|tool| tool.runs() == 0), "{rule} {name} {action}");
            }
        }
        // Switched off, and out of the agent's list.
        let tools = managed();
        let engine = engine(Engine::builder(), &tools.each_ref()).await;
        engine.catalog().set_enabled(tool, false).unwrap();
        let args = json!({"path": "a", "action": action});
        let outcome = call(&engine, "file_manager", args.clone()).await;
        assert_eq!(failure(&outcome).1, ErrorType::ToolDisabled, "{action}");
        engine.catalog().set_enabled(tool, true).unwrap();
        for (list, runs) in [("find_files", false), ("file_manager", true), (own.as_str(), true)] {
            let view = ViewRequest { agent: Some(vec![list.to_owned()]), ..ViewRequest::default() };
            let batch = Batch {
                view: Arc::new(view),
                ..Batch::new(Origin::Model, vec![Call::new("file_manager", args.clone())])
            };
            let outcome = one(&engine, batch).await;
            assert_eq!(outcome.kind == OutcomeKind::Succeeded, runs, "{list} {action}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_to_all_callers_is_in_no_view() {
    for (rule, name) in [
        ("Bash", "shell"),
        ("bash", "shell"),
        ("Edit", "write_file"),
        ("Write", "edit_file"),
        ("Read", "read_file"),
        ("read_file", "read_file"),
        ("WebFetch", "fetch_url"),
        ("mcp__github", "github__push"),
        ("mcp__github__*", "github__push"),
        ("mcp__github__push", "github__push"),
        ("mcp:github.push", "github__push"),
        ("mcp__*", "github__push"),
        ("*_file", "read_file"),
        ("Ba*", "shell"),
    ] {
        let tool = Arc::new(match name {
            "shell" => shell(),
            "github__push" => ScriptedTool::new("push")
                .spec(|spec| spec.name = toolcrib_core::remote_name("github", "push")),
            name => file_tool(name),
        });
        let engine = engine(Engine::builder().rules(compiled(&[(Deny, rule)])), &[&tool]).await;
        let view = engine.catalog().view(&Arc::new(ViewRequest::default()));
        assert!(view.find(name).is_none(), "{rule} {name}");
        let reason = &view.excluded[0].reason;
        assert!(matches!(reason, Exclusion::Rule { rule: by } if by.rule == rule), "{reason:?}");
        let outcome = call(&engine, name, json!({})).await;
        let (_, error_type, text) = failure(&outcome);
        assert_eq!(error_type, ErrorType::ToolNotAvailable);
        assert!(text.contains(&format!("a rule denies it: deny {rule} (")), "{text}");
        assert_eq!(tool.runs(), 0);
    }
}

#[tokio::test]
async fn a_rule_with_a_scope_or_a_specifier_leaves_the_tool_in_view() {
    let mut scoped = rules(&[(Deny, "Bash")]);
    scoped[0].text.agents = vec!["coder".into()];
    let mut ending = rules(&[(Deny, "Bash")]);
    ending[0].text.expires = Some("2999-01-01".into());
    for list in [scoped, ending, rules(&[(Deny, "Bash(ls)")]), rules(&[(Ask, "Bash")])] {
        let rules = RuleSet::compile(list.clone()).unwrap();
        let engine = engine(Engine::builder().rules(rules), &[&Arc::new(shell())]).await;
        let view = engine.catalog().view(&Arc::new(ViewRequest::default()));
        assert!(view.find("shell").is_some(), "{list:?}");
    }
}

#[tokio::test]
async fn scopes() {
    let context = |agent: &str, channel: &str, workspace: &str| Context {
        agent: agent.into(),
        channel: channel.into(),
        workspace: workspace.into(),
        ..Context::default()
    };
    type Change = fn(&mut RuleSource);
    let cases: [(Change, Origin, Context, bool); 10] = [
        (|r| r.text.agents = vec!["coder".into()], Origin::Model, context("coder", "", ""), true),
        (|r| r.text.agents = vec!["coder".into()], Origin::Model, context("other", "", ""), false),
        (|r| r.text.agents = vec!["coder".into()], Origin::Model, context("", "", ""), false),
        (
            |r| r.text.channels = vec!["background".into()],
            Origin::Schedule,
            context("", "", ""),
            true,
        ),
        (
            |r| r.text.channels = vec!["background".into()],
            Origin::Model,
            context("", "", ""),
            false,
        ),
        (
            |r| r.text.channels = vec!["external-agent".into()],
            Origin::Mcp,
            context("", "", ""),
            true,
        ),
        (|r| r.text.channels = vec!["chat".into()], Origin::Mcp, context("", "chat", ""), true),
        (|r| r.text.workspaces = vec!["/a".into()], Origin::Model, context("", "", "/a/b"), true),
        (|r| r.text.workspaces = vec!["/a".into()], Origin::Model, context("", "", "/ab"), false),
        (|r| r.text.expires = Some("2001-01-01".into()), Origin::Model, context("", "", ""), false),
    ];
    for (at, (change, origin, context, denied)) in cases.into_iter().enumerate() {
        let mut list = rules(&[(Deny, "work(q:*)")]);
        change(&mut list[0]);
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
        let tool = Arc::new(ScriptedTool::new("work").takes(schema).spec(|s| s.risk = Risk::Safe));
        let builder = Engine::builder().rules(RuleSet::compile(list).unwrap());
        let engine = engine(builder, &[&tool]).await;
        let mut batch = Batch::new(origin, vec![Call::new("work", json!({"q": "x"}))]);
        batch.context = Arc::new(context);
        let outcome = one(&engine, batch).await;
        assert_eq!(outcome.kind == OutcomeKind::Denied, denied, "case {at}: {outcome:?}");
    }
}

#[tokio::test]
async fn locked_stays_locked_and_a_rule_of_an_untrusted_workspace_allows_nothing() {
    let settings = EngineSettings { preset: Preset::Locked, ..EngineSettings::default() };
    let builder = Engine::builder().settings(settings).rules(compiled(&[(Allow, "Bash(ls:*)")]));
    let locked = engine(builder, &[&Arc::new(shell())]).await;
    let outcome = call(&locked, "shell", json!({"command": "ls"})).await;
    assert_eq!(failure(&outcome).1, ErrorType::PolicyDenied);

    let mut list = rules(&[(Allow, "Bash(ls:*)")]);
    list[0].layer = Layer::Untrusted;
    let untrusted =
        engine(Engine::builder().rules(RuleSet::compile(list).unwrap()), &[&Arc::new(shell())])
            .await;
    assert_eq!(call(&untrusted, "shell", json!({"command": "ls"})).await.kind, OutcomeKind::Denied);
}

#[tokio::test]
async fn the_strictest_layer_wins() {
    for (user, managed, expected) in [
        (Allow, Deny, Some(Deny)),
        (Allow, Ask, Some(Ask)),
        (Deny, Allow, Some(Deny)),
        (Ask, Allow, Some(Ask)),
        (Allow, Allow, Some(Allow)),
    ] {
        for layer in [Layer::Project, Layer::User] {
            let mut list = rules(&[(user, "Bash(ls:*)"), (managed, "Bash(ls *)")]);
            list[0].layer = layer;
            list[1].layer = Layer::Managed;
            let rules = RuleSet::compile(list).unwrap();
            let judged = judge_args(&rules, "shell", &json!({"command": "ls -l"}));
            assert_eq!(judged.verdict, expected, "{user} {managed}");
        }
    }
}

/// Rules for calls of tools with paths, addresses and arguments.
#[test]
fn calls_that_are_no_command_lines() {
    let check = |list: &[(Verdict, &str)], tool: &str, args: Value, expected: Option<Verdict>| {
        let judged = judge_args(&compiled(list), tool, &args);
        assert_eq!(judged.verdict, expected, "{list:?} {tool} {args}: {judged:?}");
        assert_eq!(judged.rule.is_some(), expected.is_some(), "{judged:?}");
    };
    let path = |path: &str| json!({"path": path});
    let two = |from: &str, to: &str| json!({"from": from, "to": to});
    let secret = &[(Deny, "Read(./secrets/**)")][..];
    check(secret, "read_file", path("secrets/a"), Some(Deny));
    check(secret, "read_file", json!({"file_path": "secrets/a"}), Some(Deny));
    check(secret, "read_file", path("./src/../secrets//a"), Some(Deny));
    check(secret, "read_file", path("/a-workspace-that-is-not-there/secrets/a"), Some(Deny));
    check(secret, "read_file", path("src/a"), None);
    check(secret, "file_info", path("secrets/a"), Some(Deny));
    check(secret, "list_dir", path("secrets"), Some(Deny));
    check(secret, "list_dir", json!({}), None);
    check(secret, "find_files", json!({"pattern": "*", "path": "secrets"}), Some(Deny));
    check(secret, "code_search", json!({"paths": ["src", "secrets/x"]}), Some(Deny));
    check(secret, "edit_file", path("secrets/a"), Some(Deny));
    check(secret, "copy_path", two("secrets/a", "b"), Some(Deny));
    check(secret, "move_path", two("secrets/a", "b"), Some(Deny));
    check(secret, "copy_path", two("b", "secrets/a"), None);
    check(secret, "write_file", path("secrets/a"), None);
    check(secret, "delete_file", path("secrets/a"), None);
    let keep = &[(Deny, "Edit(./keep/**)")][..];
    for tool in ["write_file", "edit_file", "make_dir", "delete_file"] {
        check(keep, tool, path("keep/a"), Some(Deny));
        check(keep, tool, path("a"), None);
    }
    check(keep, "move_path", two("keep/a", "b"), Some(Deny));
    check(keep, "move_path", two("a", "keep/b"), Some(Deny));
    check(keep, "copy_path", two("a", "keep/b"), Some(Deny));
    check(keep, "copy_path", two("keep/a", "b"), None);
    check(keep, "read_file", path("keep/a"), None);
    check(keep, "delete_file", json!({"path": ".", "recursive": true}), Some(Ask));
    check(&[(Deny, "Write(./keep/**)")], "edit_file", path("keep/a"), Some(Deny));
    check(&[(Deny, "MultiEdit(./keep/**)")], "write_file", path("keep/a"), Some(Deny));
    check(&[(Deny, "Glob(./keep/**)")], "find_files", path("keep"), Some(Deny));
    check(&[(Deny, "Glob(./keep/**)")], "list_dir", path("keep"), None);
    check(&[(Deny, "LS(keep)")], "list_dir", path("keep"), Some(Deny));
    check(&[(Deny, "write_file(keep)")], "write_file", path("keep"), Some(Deny));
    check(&[(Deny, "write_file(keep)")], "edit_file", path("keep"), None);

    let allow = &[(Allow, "Edit(./out/**)"), (Allow, "Read(./src/**)")][..];
    check(allow, "write_file", path("out/a"), Some(Allow));
    check(allow, "write_file", path("out/../a"), None);
    check(allow, "write_file", path("src/a"), None);
    check(allow, "delete_file", path("out/a"), None);
    check(allow, "read_file", path("src/a"), Some(Allow));
    check(allow, "list_dir", path("src"), Some(Allow));
    check(allow, "copy_path", two("src/a", "out/a"), Some(Allow));
    check(allow, "copy_path", two("x/a", "out/a"), None);
    check(allow, "move_path", two("src/a", "out/a"), None);
    check(&[(Allow, "delete_file(./out/**)")], "delete_file", path("out/a"), Some(Allow));
    check(&[(Allow, "Edit")], "write_file", path("a"), Some(Allow));
    check(&[(Allow, "Edit")], "delete_file", path("a"), None);
    check(&[(Allow, "Read")], "list_dir", json!({}), Some(Allow));
    check(&[(Allow, "Read")], "write_file", path("a"), None);
    check(&[(Allow, "Read"), (Deny, "Read(.env)")], "read_file", path("x/.env"), Some(Deny));
    check(&[(Allow, "Read"), (Ask, "Read(.env)")], "read_file", path(".env"), Some(Ask));

    let url = |url: &str| json!({"url": url});
    let evil = &[(Deny, "WebFetch(domain:evil.com)"), (Allow, "WebFetch(domain:good.com)")][..];
    for tool in ["fetch_url", "http_request", "web_fetch"] {
        check(evil, tool, url("https://evil.com/x"), Some(Deny));
        check(evil, tool, url("https://sub.evil.com:8080/x"), Some(Deny));
        check(evil, tool, url("https://good.com@evil.com"), Some(Deny));
        check(evil, tool, url("https://EVIL.COM./"), Some(Deny));
        check(evil, tool, url("https://good.com/x"), Some(Allow));
        check(evil, tool, url("https://sub.good.com/x"), None);
        check(evil, tool, url("https://good.com.other.org/"), None);
        check(evil, tool, url("no address"), Some(Ask));
    }
    check(
        &[(Deny, "http_request(method:DELETE)")],
        "http_request",
        json!({"url": "https://x.y", "method": "DELETE"}),
        Some(Deny),
    );
    check(&[(Deny, "http_request(method:DELETE)")], "http_request", url("https://x.y"), None);
    check(
        &[(Allow, "mcp__mail__send(to:*@example.com)")],
        "mail__send",
        json!({"to": "a@example.com"}),
        Some(Allow),
    );
    check(
        &[(Allow, "mcp__mail__send(to:*@example.com)")],
        "mail__send",
        json!({"to": ["a@example.com", "b@x.y"]}),
        None,
    );
    check(&[(Deny, "Task(Explore)")], "agent", json!({"subagent_type": "Explore"}), Some(Deny));
    check(
        &[(Allow, "mcp__github__*"), (Deny, "mcp__github__push")],
        "github__push",
        json!({}),
        Some(Deny),
    );
    check(&[(Allow, "mcp__github__*")], "github__pull", json!({}), Some(Allow));
    check(&[(Allow, "mcp__github__*")], "gitlab__pull", json!({}), None);
    check(&[(Deny, "shell")], "shell", json!({"command": ""}), Some(Deny));
    check(&[(Deny, "Bash(rm:*)")], "shell", json!({"command": ["rm", "x y"]}), Some(Deny));
    check(
        &[(Deny, "Bash(rm:*)")],
        "shell",
        json!({"command": ["bash", "-c", "ls; rm x"]}),
        Some(Deny),
    );
}

#[test]
fn an_own_tool_that_takes_command_lines_is_denied_but_never_allowed_by_rules_for_bash() {
    let spec = ScriptedTool::new("run_it").spec(|spec| spec.reach.exec = true);
    let spec = toolcrib_core::Handler::spec(&spec).clone();
    let says = |rule, command: &str| {
        let args = json!({"command": command});
        let asked = toolcrib_engine::rules::RuleQuery {
            operation: "run_it",
            tool: "run_it",
            args: &args,
            agent: "",
            channel: "chat",
            workspace: "",
            now_ms: 0,
        };
        compiled(&[rule]).evaluate_tool(&asked, &spec).verdict
    };
    assert_eq!(says((Deny, "Bash(rm:*)"), "ls; rm x"), Some(Deny));
    assert_eq!(says((Ask, "Bash(rm:*)"), "rm x"), Some(Ask));
    assert_eq!(says((Allow, "Bash(rm:*)"), "rm x"), None);
    assert_eq!(says((Deny, "Bash(rm:*)"), "it's fine"), None);
}

#[test]
fn rules_on_domains_say_that_they_do_not_see_into_shells() {
    let list = [(Deny, "WebFetch(domain:evil.com)"), (Allow, "Bash(curl:*)")];
    let judged =
        judge_args(&compiled(&list), "shell", &json!({"command": "curl https://evil.com"}));
    assert!(judged.reason.contains("say nothing about curl and wget"), "{}", judged.reason);
    let judged = judge_args(&compiled(&list), "shell", &json!({"command": "ls"}));
    assert!(!judged.reason.contains("curl"), "{}", judged.reason);
}

#[test]
fn every_part_is_shown_with_its_rule() {
    let list = [(Allow, "Bash(ls:*)"), (Deny, "Bash(rm:*)")];
    let judged =
        judge_args(&compiled(&list), "shell", &json!({"command": "ls -l && sudo rm x > y; make"}));
    let parts: Vec<(&str, Option<Verdict>, Option<&str>)> = judged
        .segments
        .iter()
        .map(|s| (s.text.as_str(), s.verdict, s.rule.as_ref().map(|rule| rule.rule.as_str())))
        .collect();
    assert!(parts.contains(&("ls -l", Some(Allow), Some("Bash(ls:*)"))), "{parts:?}");
    assert!(parts.iter().any(|p| p.1 == Some(Deny) && p.2 == Some("Bash(rm:*)")), "{parts:?}");
    assert!(parts.contains(&("make", None, None)), "{parts:?}");
    assert!(judged.reason.contains("a rule denies this part"), "{}", judged.reason);
}

#[tokio::test]
async fn a_host_is_asked_about_whatever_rules_allow_and_remembered_alone() {
    let hosts = json!({"type": "array", "items": {"type": "string"}});
    let schema =
        json!({"type": "object", "properties": {"command": {"type": "string"}, "hosts": hosts}});
    let tool = shell().takes(schema).assesses(|spec, args| {
        let mut assessed = Assessment::from_spec(spec);
        let hosts = args["hosts"].as_array().into_iter().flatten();
        let named = hosts.filter_map(|host| Some(Permission::Host(host.as_str()?.to_owned())));
        assessed.permissions.extend(named);
        Ok(assessed)
    });
    let tool = Arc::new(tool);
    let always = || Decision::approve_for(GrantScope::Always);
    let approver = Arc::new(ScriptedApprover::deciding([always(), always()]));
    let builder = Engine::builder()
        .rules(compiled(&[(Allow, "Bash(curl:*)"), (Deny, "Bash(rm:*)")]))
        .approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&tool]).await;
    let run = async |command: &str, hosts: Value| {
        call(&engine, "shell", json!({"command": command, "hosts": hosts})).await.kind
    };
    assert_eq!(run("curl x", json!([])).await, OutcomeKind::Succeeded);
    assert_eq!(approver.asked().len(), 0, "the rule allows it");
    assert_eq!(run("curl x", json!(["a.example"])).await, OutcomeKind::Succeeded);
    let asked = approver.asked();
    assert_eq!((asked.len(), asked[0].reasons[0].kind), (1, ReasonKind::Host));
    assert!(asked[0].reasons[0].text.contains("a.example"), "{:?}", asked[0].reasons);
    // The grant is listed, and covers this host alone.
    let grants = engine.grants().list("").await.unwrap();
    assert_eq!(grants[0].args["hosts"], r#"["a.example"]"#);
    run("curl y", json!(["a.example"])).await;
    assert_eq!(approver.asked().len(), 1);
    run("curl x", json!(["b.example"])).await;
    assert_eq!(approver.asked().len(), 2);
    // A call that a rule denies asks no person.
    assert_eq!(run("rm x", json!(["a.example"])).await, OutcomeKind::Denied);
    assert_eq!(approver.asked().len(), 2);
}

/// Each word of these lines may begin a command that extends to the end of the line. Compared as a
/// whole at every word, a line of 128 KiB takes minutes.
#[test]
fn a_line_that_is_too_costly_to_compare_is_never_allowed() {
    let mut list = rules(&[
        (Deny, "Bash(* --force * never)"),
        (Allow, "Bash(nice * x)"),
        (Ask, "Edit(./secret/**)"),
    ]);
    list[1].text.is_unsafe = true;
    let rules = RuleSet::compile(list).unwrap();
    for (open, word) in
        [("( ", "a "), ("( ", "'' "), ("", "nice "), ("", "env "), ("( ", "sudo >f ")]
    {
        let words = word.repeat((MAX_COMMAND_LINE_BYTES - 8) / word.len());
        let line = format!("{open}{words}x");
        let begun = std::time::Instant::now();
        let evaluation = rules.evaluate(&judged(&json!({"command": line})));
        assert!(begun.elapsed().as_secs() < 30, "{open}{word}: {:?}", begun.elapsed());
        assert_ne!(evaluation.verdict, Some(Allow), "{open}{word}");
    }
    let long = "ls ".repeat(MAX_COMMAND_LINE_BYTES / 3 + 1);
    let evaluation = rules.evaluate(&judged(&json!({"command": long})));
    assert_eq!(evaluation.verdict, Some(Deny));
    assert!(evaluation.reason.contains("write the text into a file"), "{}", evaluation.reason);
    // A denied command stays denied among thousands of words.
    let hidden = format!("( {}git --force x never", "a ".repeat(400));
    let evaluation = rules.evaluate(&judged(&json!({"command": hidden})));
    assert_eq!(evaluation.verdict, Some(Deny), "{}", evaluation.reason);
}

fn judged(args: &Value) -> RuleQuery<'_> {
    RuleQuery {
        operation: "shell",
        tool: "shell",
        args,
        agent: "",
        channel: "chat",
        workspace: "/work",
        now_ms: 0,
    }
}
