//! Built-in tools that are equivalent to a command: rules on the command cover them too.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::operation_classes::{FROM, PATH, TO};

/// The commands equivalent to a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SameCommand {
    /// Words of each command. The call is allowed if all commands are, and denied if one is.
    pub(super) commands: Vec<Vec<String>>,
    /// Whether the call runs all of them; otherwise it runs one of them, which only its handler
    /// determines.
    pub(super) is_certain: bool,
}

/// Commands that `test_runner` may run if the call does not name the program.
const TESTS: [&[&str]; 6] = [
    &["python3", "-m", "pytest"],
    &["python3", "-m", "unittest"],
    &["cargo", "test"],
    &["go", "test"],
    &["npm", "test"],
    &["make", "test"],
];

/// Returns the commands of a call with its final arguments; `None` if the call is not equivalent to
/// a command.
pub(super) fn same_command(operation: &str, tool: &str, args: &Value) -> Option<SameCommand> {
    let text = |names: &[&str]| names.iter().find_map(|name| args.get(name)?.as_str());
    let is_set = |name: &str| args.get(name) == Some(&Value::Bool(true));
    let certain = |commands| Some(SameCommand { commands, is_certain: true });
    let one = |program: &str, words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        certain(vec![std::iter::once(program.to_owned()).chain(words).collect()])
    };
    match operation {
        "delete_file" => {
            let path = operand(text(PATH)?);
            if is_set("recursive") { one("rm", &["-r", &path]) } else { one("rm", &[&path]) }
        }
        "make_dir" => one("mkdir", &[&operand(text(PATH)?)]),
        "copy_path" => one("cp", &[&operand(text(FROM)?), &operand(text(TO)?)]),
        "move_path" => one("mv", &[&operand(text(FROM)?), &operand(text(TO)?)]),
        "test_runner" => tests(text(&["runner"])),
        _ if tool == "git_manager" => {
            certain(git(operation.strip_prefix("git_manager.").or(text(&["action"]))?, args))
        }
        _ => None,
    }
}

/// Returns the words of a command as a line, quoted only if a shell would change them.
pub(super) fn command_text(words: &[String]) -> String {
    let is_plain = |word: &String| {
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c))
    };
    let quoted = words.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns the path in a form that is not parsed as an option.
fn operand(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

fn git(action: &str, args: &Value) -> Vec<Vec<String>> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let is_set = |name: &str| args.get(name) == Some(&Value::Bool(true));
    let words = |words: &[Option<&str>]| -> Vec<String> {
        ["git"].into_iter().chain(words.iter().copied().flatten()).map(str::to_owned).collect()
    };
    match action {
        "commit" => {
            let all = is_set("all").then_some("--all");
            vec![words(&[Some("commit"), Some("-m"), text("message"), all])]
        }
        "push" => vec![words(&[Some("push"), text("remote").or(Some("origin")), text("name")])],
        // The tool switches to the branch and creates it if it is missing.
        "branch" if text("name").is_some() => {
            vec![words(&[Some("branch"), text("name")]), words(&[Some("switch"), text("name")])]
        }
        _ => {
            let staged = is_set("staged").then_some("--cached");
            let mut command = words(&[Some(action), staged, text("revision")]);
            let paths = args.get("paths").and_then(Value::as_array).into_iter().flatten();
            command.extend(paths.filter_map(Value::as_str).map(operand));
            vec![command]
        }
    }
}

fn tests(runner: Option<&str>) -> Option<SameCommand> {
    let is_it = |command: &&&[&str]| match runner {
        Some(runner) => command.contains(&runner),
        None => true,
    };
    let words = |command: &&[&str]| command.iter().map(|word| (*word).to_owned()).collect();
    let commands: Vec<Vec<String>> = TESTS.iter().filter(is_it).map(words).collect();
    (!commands.is_empty()).then_some(SameCommand { commands, is_certain: runner.is_some() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_the_commands_that_people_write_rules_for() {
        for (operation, args, expected) in [
            ("git_manager.push", json!({}), vec!["git push origin"]),
            ("git_manager.push", json!({"remote": "up", "name": "x"}), vec!["git push up x"]),
            (
                "git_manager.commit",
                json!({"message": "m", "all": true}),
                vec!["git commit -m m --all"],
            ),
            ("git_manager.branch", json!({}), vec!["git branch"]),
            ("git_manager.branch", json!({"name": "x"}), vec!["git branch x", "git switch x"]),
            (
                "git_manager.diff",
                json!({"staged": true, "paths": ["a"]}),
                vec!["git diff --cached a"],
            ),
            ("delete_file", json!({"path": "x"}), vec!["rm x"]),
            ("delete_file", json!({"path": "-x", "recursive": true}), vec!["rm -r ./-x"]),
            ("make_dir", json!({"path": "x"}), vec!["mkdir x"]),
            ("copy_path", json!({"from": "a", "to": "b"}), vec!["cp a b"]),
            ("move_path", json!({"from": "a", "to": "b"}), vec!["mv a b"]),
            ("test_runner", json!({"runner": "cargo"}), vec!["cargo test"]),
        ] {
            let tool = operation.split('.').next().unwrap_or(operation);
            let found = same_command(operation, tool, &args).expect(operation);
            let lines: Vec<String> = found.commands.iter().map(|words| words.join(" ")).collect();
            assert_eq!(
                (lines, found.is_certain),
                (expected.iter().map(ToString::to_string).collect(), true)
            );
        }
        let any = same_command("test_runner", "test_runner", &json!({})).expect("tests");
        assert_eq!((any.commands.len(), any.is_certain), (6, false));
        assert_eq!(same_command("read_file", "read_file", &json!({"path": "x"})), None);
    }
}
