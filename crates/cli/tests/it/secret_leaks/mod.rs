//! Planted secrets: twenty of them, in seven encodings, through everything that could repeat them.
//! No output and no file of the data folder may contain any of them.

mod canaries;
mod echo_server;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use toolcrib_store::vault::{Secret, Vault};

use self::canaries::{Search, forms, secrets};
use self::echo_server::Page;
use crate::support::{self, Provider, Reply, TestEnv, ask, body};

/// A tool that gets all of them and reports whether it did; then prints its argument.
const TOOL: &str = r#"#!/bin/sh
here=$(dirname "$0")
for n in 01 02 03 04 05 06 07 08 09 10 12 13 14 15 16 17 18 19 20; do
  eval "value=\$S$n"
  [ "$value" = "$(cat "$here/S$n")" ] || { echo "S$n is not given"; exit 3; }
done
case "$(cat)" in
  *split*) for n in 01 02 08 17; do eval "value=\$S$n"; printf '%s' "${value%????}"; sleep 0.01; printf '%s\n' "${value#"${value%????}"}"; done ;;
  *fail*) cat "$here/forms" >&2; exit 7 ;;
  *env*) env ;;
  *wrapped*) printf '%s' "$S20" | base64; printf '%s' "$S20" | od -An -tx1 | head -c 100 ;;
  *) cat "$here/forms" ;;
esac
echo
echo told
"#;

/// The environment of the test, and all output so far.
struct Scene {
    env: TestEnv,
    search: Search,
    /// Every form of every secret, one per line.
    forms: String,
    leaks: Vec<String>,
    printed: usize,
}

impl Scene {
    fn new() -> Self {
        let env = TestEnv::new();
        let secrets = secrets();
        let mut all = String::new();
        let vault = Vault::in_folder(env.outside().join("home/state/vault"));
        for (name, secret) in &secrets {
            let value = Secret::new(secret.as_str()).ok().unwrap();
            vault.set(&format!("teller.{name}").parse().unwrap(), &value, 1).unwrap();
            for form in forms(secret) {
                all += &format!("{form}\n");
            }
        }
        let scene =
            Self { search: Search::of(&secrets), forms: all, env, leaks: Vec::new(), printed: 0 };
        scene.tool(&secrets);
        scene
    }

    fn tool(&self, secrets: &[(String, String)]) {
        let folder = self.env.outside().join("home/tools/teller");
        fs::create_dir_all(&folder).unwrap();
        let keys: String =
            secrets.iter().map(|(name, _)| format!("{name} = {{ secret = true }}\n")).collect();
        let definition = format!(
            "description = \"Tells what it is given.\"\ncommand = [\"./run.sh\"]\nrisk = \"safe\"\neffect = \"read\"\n\
             [parameters.how]\ntype = \"string\"\ndescription = \"How.\"\n[config]\n{keys}"
        );
        fs::write(folder.join("tool.toml"), definition).unwrap();
        fs::write(folder.join("run.sh"), TOOL).unwrap();
        fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("forms"), &self.forms).unwrap();
        for (name, secret) in secrets {
            fs::write(folder.join(name), secret).unwrap();
        }
    }

    /// Runs the binary, and searches its output.
    fn run(&mut self, args: &[&str], input: &str) -> String {
        let ended = self.env.feed(args, input);
        for text in [&ended.stdout, &ended.stderr] {
            self.printed += text.len();
            let what = args.iter().take(3).copied().collect::<Vec<_>>().join(" ");
            self.leaks.extend(
                self.search.find(text.as_bytes()).iter().map(|leak| format!("{what}: {leak}")),
            );
        }
        format!("{}{}", ended.stdout, ended.stderr)
    }

    /// Calls a tool, with both forms of output.
    fn call(&mut self, tool: &str, args: &Value, more: &[&str]) -> String {
        let form = if self.printed.is_multiple_of(2) { &["--json"][..] } else { &[] };
        let fixed = ["tool", "call", tool, "--explain", "--args", "-"];
        self.run(&[&fixed, more, form].concat(), &args.to_string())
    }

    /// Fails if any secret was found.
    fn finish(mut self) {
        let state = self.env.outside().join("home/state");
        let files = self.search.find_in(&state, &mut self.leaks);
        assert!(files > 5 && self.printed > 10_000, "it was looked at something");
        assert!(self.leaks.is_empty(), "{} leaks:\n{}", self.leaks.len(), self.leaks.join("\n"));
    }
}

#[test]
fn the_search_finds_what_is_there() {
    let secrets = secrets();
    let search = Search::of(&secrets);
    for (name, secret) in &secrets {
        for form in forms(secret) {
            let found = search.find(format!("some text {form} and more").as_bytes());
            assert!(found.iter().any(|found| found.starts_with(name)), "{form}");
        }
    }
    assert!(search.find(b"nothing of it").is_empty());
}

#[test]
fn files_and_their_errors_repeat_no_secret() {
    let mut scene = Scene::new();
    let forms = scene.forms.clone();
    let filler = "buy oats and milk\n".repeat(1500);
    scene.env.write("forms.txt", format!("{forms}{filler}{forms}"));
    scene.env.write("plain-canary-0001.md", "a file with a name");
    let told = scene.call("read_file", &json!({"path": "forms.txt"}), &[]);
    assert!(told.contains("***") && told.contains("art_"), "masked and stored: {told:.300}");
    let reference = told.split("art_").nth(1).unwrap()[..32].to_owned();
    let reference = json!({"ref": format!("art_{reference}"), "limit": 19000});
    scene.call("read_artifact", &reference, &[]);
    scene.call("read_artifact", &json!({"ref": reference["ref"], "pattern": "canary"}), &[]);
    scene.call("read_file", &json!({"path": "forms.txt", "offset": 3, "limit": 20}), &[]);
    scene.call("list_dir", &json!({}), &[]);
    scene.call("find_files", &json!({"pattern": "plain-canary*"}), &[]);
    scene.call("file_info", &json!({"path": "plain-canary-0001.md"}), &[]);
    let all: String =
        secrets().iter().map(|(_, secret)| format!("before {secret} after\n")).collect();
    scene.call("write_file", &json!({"path": "two.txt", "content": all}), &[]);
    assert_eq!(scene.env.read("two.txt"), Some(all), "written as it is");
    scene.call("read_file", &json!({"path": "two.txt"}), &[]);
    let edit = json!({"path": "two.txt", "old_text": "plain-canary-0001", "new_text": "new"});
    scene.call("edit_file", &edit, &[]);
    let edit = json!({"path": "two.txt", "old_text": "plain-canary-0001", "new_text": "new"});
    scene.call("edit_file", &edit, &[]);
    for secret in ["plain-canary-0001", "quote\"canary\"inside"] {
        scene.call("read_file", &json!({"path": format!("gone/{secret}")}), &[]);
        scene.call("read_file", &json!({"path": "a", secret: 1, "offset": secret}), &[]);
        scene.call(secret, &json!({}), &[]);
        scene.run(&["tool", "call", "read_file", "--args", &format!("{{\"path\": \"{secret}")], "");
        scene.call("copy_path", &json!({"from": "notes.md", "to": format!("{secret}/x")}), &[]);
        scene.call("delete_file", &json!({"path": secret}), &["--on-ask", "deny"]);
    }
    for args in
        [&["history"][..], &["history", "--json"], &["metrics", "--json"], &["audit", "export"]]
    {
        scene.run(args, "");
    }
    scene.finish();
}

#[test]
fn tools_and_servers_repeat_no_secret() {
    let mut scene = Scene::new();
    for how in ["all", "split", "fail", "env", "wrapped"] {
        let told = scene.call("teller", &json!({"how": how}), &[]);
        assert!(!told.contains("is not given"), "{told:.300}");
        assert!(how == "fail" || told.contains("told"), "{how}: {told:.300}");
    }
    let page = Page::start(&scene.forms);
    let net = ["--allow-net", &page.target(), "--policy", "auto"].map(str::to_owned);
    let net: Vec<&str> = net.iter().map(String::as_str).collect();
    for path in ["/text", "/json", "/html", "/headers", "/missing"] {
        scene.call("http_request", &json!({"url": page.url(path)}), &net);
        scene.call("fetch_url", &json!({"url": page.url(path)}), &net);
    }
    let all: Vec<String> = secrets().into_iter().map(|(_, secret)| secret).collect();
    let args = json!({"url": page.url("/echo"), "method": "POST", "body": all.join("\n"),
        "headers": {"x-key": all[1], "x-other": all[16]}});
    scene.call("http_request", &args, &net);
    scene.call("http_request", &json!({"url": page.url("/text?key=plain-canary-0001")}), &net);
    scene.call("http_request", &json!({"url": "http://169.254.1.1/plain-canary-0001"}), &[]);
    for line in scene.run(&["history", "--json"], "").split("\"call\":\"").skip(1).take(4) {
        let id = line.split('"').next().unwrap().to_owned();
        scene.run(&["explain", &id], "");
        scene.run(&["explain", &id, "--json"], "");
    }
    scene.finish();
}

#[test]
fn approvals_keep_no_secret_and_run_with_what_was_approved() {
    let mut scene = Scene::new();
    let all = secrets();
    // Five secrets in each of four calls: approved, denied, edited, and undecided.
    let content = |n: usize| -> String {
        all[n * 5..n * 5 + 5].iter().map(|(_, secret)| format!("<{secret}>")).collect()
    };
    let wait = ["--on-ask", "fail", "--policy", "ask-all"];
    for n in 0..4 {
        let path = format!("kept/{n}.txt");
        let args = json!({"path": path, "content": content(n)}).to_string();
        scene.run(&[&["tool", "call", "write_file", "--args", "-"], &wait[..]].concat(), &args);
        assert_eq!(scene.env.read(&path), None, "it waits");
    }
    scene.run(&["approve", "list"], "");
    let listed = support::json(&scene.run(&["approve", "list", "--json"], ""));
    let rows = listed.as_array().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4);
    ids.iter().for_each(|id| drop(scene.run(&["approve", "show", id], "")));
    scene.run(&["approve", "yes", ids[0]], "");
    assert_eq!(scene.env.read("kept/0.txt"), Some(content(0)), "as it was approved");
    scene.run(&["approve", "no", ids[1], "--note", &format!("not with {}", all[6].1)], "");
    assert_eq!(scene.env.read("kept/1.txt"), None);
    // A value that stays masked keeps its secret; another value may be another secret.
    let edited = format!("edited/{}", all[1].1);
    let args = json!({"path": edited, "content": "<***>".repeat(5)}).to_string();
    scene.run(&["approve", "edit", ids[2], "--args", &args], "");
    assert_eq!(scene.env.read(&edited), Some(content(2)));
    scene.run(&["approve", "list", "--all", "--json"], "");
    // A call with a key that is not decided in time.
    let late = json!({"path": "late.txt", "content": all[1].1}).to_string();
    let policy = ["--policy", "ask-all", "--on-ask", "wait:50ms", "--args", "-"];
    scene.run(&[&["tool", "call", "write_file"], &policy[..]].concat(), &late);
    let keyed = json!({"path": "keyed.txt", "content": all[3].1, "mode": "append"}).to_string();
    for _ in 0..2 {
        scene.run(&["tool", "call", "write_file", "--idempotency-key", "k", "--args", "-"], &keyed);
    }
    assert_eq!(scene.env.read("keyed.txt").as_ref(), Some(&all[3].1), "once");
    for args in [&["history", "--json"][..], &["audit", "export"], &["audit", "tail"]] {
        scene.run(args, "");
    }
    scene.env.run(&["audit", "verify"]).code(0);
    scene.finish();
}

#[test]
fn runs_and_models_leave_no_secret_behind() {
    let mut scene = Scene::new();
    let all = secrets();
    let mut turns = String::new();
    for (name, secret) in &all {
        let say = json!(format!("The key {secret} is used."));
        let call = json!({"path": format!("run/{name}.txt"), "content": secret});
        turns += &format!(
            "  - say: {say}\n    think: {say}\n    calls: [{{tool: write_file, args: {call}}}]\n"
        );
    }
    turns += &format!("  - say: {}\n", json!(format!("Done with {}.", all[1].1)));
    let model = scene.env.script("planted", &turns);
    let task = format!("Use {} and {}", all[1].1, all[3].1);
    let rounds = ["--max-rounds", "40"];
    let told = scene.run(&[&["run", "--model", &model, &task, "--json"], &rounds[..]].concat(), "");
    assert!(told.contains("\"answer\"") && told.contains("***"), "{told:.300}");
    for (name, secret) in &all {
        assert_eq!(
            scene.env.read(&format!("run/{name}.txt")).as_ref(),
            Some(secret),
            "{told:.600}"
        );
    }
    scene.run(&[&["run", "--model", &model, &task], &rounds[..]].concat(), "");
    // A run waits, and continues in another process with its secrets.
    let call = json!({"path": "later.txt", "content": all[4].1});
    let waits = format!(
        "  - say: {}\n    calls: [{{tool: write_file, args: {call}}}]\n  - say: Done.\n",
        json!(all[5].1)
    );
    let model = scene.env.script("waits", &waits);
    let policy = ["--policy", "ask-all", "--on-ask", "fail"];
    scene.run(&[&["run", "--model", &model, &task], &policy[..]].concat(), "");
    scene.run(&["resume", "--list"], "");
    scene.run(&["resume", "--list", "--json"], "");
    scene.run(&["resume", "--approve"], "");
    assert_eq!(scene.env.read("later.txt").as_ref(), Some(&all[4].1));
    // A question of the model.
    let question = json!({"question": format!("Is it {}?", all[1].1)});
    let asks = format!("  - calls: [{{tool: ask_user, args: {question}}}]\n  - say: Good.\n");
    let model = scene.env.script("asks", &asks);
    scene.run(&["run", "--model", &model, &task, "--on-ask", "fail"], "");
    scene.run(&["approve", "list", "--json"], "");
    scene.run(&["resume", "--list"], "");
    scene.run(&["resume", "--answer", &format!("yes, {}", all[3].1)], "");
    let asks: Vec<_> = all
        .iter()
        .enumerate()
        .flat_map(|(n, (_, secret))| {
            let write = json!({"path": "exec.txt", "content": secret});
            let wrong = json!({"path": "exec.txt", "nope": secret});
            [ask(&format!("w{n}"), "write_file", write), ask(&format!("r{n}"), "read_file", wrong)]
        })
        .collect();
    for format in ["openai-chat", "anthropic"] {
        scene.run(&["exec", "--format", format, "--explain"], &body(format, &asks));
    }
    scene.finish();
}

#[test]
fn a_provider_that_repeats_its_key_is_not_repeated() {
    let mut scene = Scene::new();
    let key = "sk-provider-canary-0123456789";
    scene.env.feed(&["secret", "set", "provider"], format!("{key}\n")).code(0);
    let refused = Reply::json(
        401,
        &json!({"error": {"message": format!("the key {key} ({}) is wrong, and {}", forms(key)[1], scene.forms)}}),
    );
    let says = Reply::says(&format!("your key is {key}, and {}", forms(key)[3]));
    let provider = Provider::start(vec![refused, says], json!({"data": []}));
    scene.env.own(
        "config.toml",
        &format!(
            "[providers.mine]\nkind = \"openai-compatible\"\nbase_url = \"{}\"\nkey = {{ secret = \"provider\" }}\nretries = 0\n",
            provider.url()
        ),
    );
    let mut all = secrets();
    all.push(("provider".to_owned(), key.to_owned()));
    scene.search = Search::of(&all);
    let told = scene.run(&["run", "--model", "mine/m", "--no-stream", "Do it"], "");
    assert!(told.contains("401") || told.contains("key"), "{told}");
    let told = scene.run(&["run", "--model", "mine/m", "--no-stream", "--json", "Do it"], "");
    assert!(told.contains("your key is ***"), "{told}");
    assert_eq!(provider.asked()[0].authorization, format!("Bearer {key}"));
    let listed = scene.run(&["secret", "list"], "");
    assert!(listed.contains("provider mine") && listed.contains("tool teller (S01)"), "{listed}");
    // The state before was not empty.
    while scene.printed <= 10_000 {
        scene.run(&["secret", "list", "--json"], "");
    }
    scene.finish();
}
