//! `toolcrib agent tools`: check boxes of every tool for one agent, and changes of its list that
//! leave the rest of its file alone.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_app::agent::library::{Agent, Folder, Location, expand_tool_list};
use toolcrib_app::core::{Risk, Status, display_text};

use super::agent::{find_agent, write_checked};
use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::AgentTools;
use crate::output::{self, Failure};

pub(super) fn run(command: &AgentTools, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(&command.library_args, json)?;
    let agent = find_agent(&shelf, &command.name)?;
    if let Some(list) = new_tool_list(command, agent, &shelf)? {
        write(&shelf, agent, &list)?;
        let shelf = LibrarySnapshot::load(&command.library_args, json)?;
        return print(&shelf, find_agent(&shelf, &command.name)?, json);
    }
    print(&shelf, agent, json)
}

/// One row per tool.
fn print(shelf: &LibrarySnapshot, agent: &Agent, json: bool) -> Result<u8, Failure> {
    let own = expand_tool_list(agent.tools.as_deref(), &shelf.tool_names).tools;
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for info in shelf.toolcrib.infos() {
        let Some(spec) = shelf.toolcrib.spec(info.id.as_str()) else { continue };
        let has = own.iter().any(|name| name == info.id.as_str());
        let permissions: Vec<String> = spec.permissions.iter().map(ToString::to_string).collect();
        let mut marks = permissions.clone();
        match spec.risk {
            Risk::Safe => {}
            Risk::High => marks.insert(0, "high".to_owned()),
            Risk::Critical => marks.insert(0, "critical".to_owned()),
        }
        if !info.enabled {
            marks.push("off".to_owned());
        }
        if let Status::Error { .. } = info.status {
            marks.push("broken".to_owned());
        }
        let about = display_text::first_sentence(&info.description).to_owned();
        let check = if has { "[x]" } else { "[ ]" };
        lines.push(vec![format!("{check} {}", info.id), about, marks.join(", ")]);
        rows.push(json!({
            "tool": info.id,
            "has": has,
            "description": info.description,
            "group": info.group,
            "source": info.source,
            "risk": spec.risk,
            "permissions": permissions,
            "enabled": info.enabled,
        }));
    }
    if json {
        let whole = json!({"agent": agent.name, "list": agent.tools, "tools": rows});
        output::print_json(&whole, true)?;
    } else {
        output::print_line(&library_snapshot::table(&lines))?;
    }
    Ok(0)
}

/// The list that the words ask for; `None` = it is only looked at.
fn new_tool_list(
    command: &AgentTools,
    agent: &Agent,
    shelf: &LibrarySnapshot,
) -> Result<Option<Vec<String>>, Failure> {
    let clean = |list: &[String]| -> Vec<String> {
        list.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
    };
    if let Some(list) = &command.set {
        let list = clean(list);
        check_known(&list, shelf)?;
        return Ok(Some(list));
    }
    let (add, remove) = (clean(&command.add), clean(&command.remove));
    if add.is_empty() && remove.is_empty() {
        return Ok(None);
    }
    check_known(&add, shelf)?;
    let mut list = match &agent.tools {
        Some(list) => list.clone(),
        // It has all of them: there is nothing to add, and what is left after a removal has to be
        // named.
        None if remove.is_empty() => return Ok(None),
        None => vec!["*".to_owned()],
    };
    list = remove_tools(list, &remove, shelf)?;
    for entry in add {
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    Ok(Some(list))
}

/// Entries of the command line that name nothing are slips of the pen.
fn check_known(list: &[String], shelf: &LibrarySnapshot) -> Result<(), Failure> {
    match expand_tool_list(Some(list), &shelf.tool_names).complaint() {
        None => Ok(()),
        Some(complaint) => Err(Failure::usage(complaint)),
    }
}

/// A list without the tools of some entries: what names several tools gives way to the names of
/// those that stay.
fn remove_tools(
    list: Vec<String>,
    remove: &[String],
    shelf: &LibrarySnapshot,
) -> Result<Vec<String>, Failure> {
    let unlisted: Vec<String> =
        remove.iter().filter(|entry| !list.contains(entry)).cloned().collect();
    check_known(&unlisted, shelf)?;
    let gone = expand_tool_list(Some(remove), &shelf.tool_names).tools;
    let mut left: Vec<String> = Vec::new();
    for entry in list.into_iter().filter(|entry| !remove.contains(entry)) {
        let tools = expand_tool_list(Some(std::slice::from_ref(&entry)), &shelf.tool_names).tools;
        let stays = if tools.iter().any(|tool| gone.contains(tool)) {
            tools.into_iter().filter(|tool| !gone.contains(tool)).collect()
        } else {
            vec![entry]
        };
        for entry in stays {
            if !left.contains(&entry) {
                left.push(entry);
            }
        }
    }
    Ok(left)
}

/// Changes the list in the agent's file.
fn write(shelf: &LibrarySnapshot, agent: &Agent, list: &[String]) -> Result<(), Failure> {
    let Location::File { scope, path } = &agent.location else {
        let name = &agent.name;
        return Err(Failure::usage(format!(
            "{name} is built in and cannot be changed; make your own with `toolcrib agent new NAME --from {name}`"
        )));
    };
    // A link stays a link: what it leads to is changed.
    let path = path.canonicalize()?;
    let text = std::fs::read_to_string(&path)?;
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let changed =
        if is_toml { replace_in_toml(&text, list) } else { replace_in_front_matter(&text, list) };
    let Some(changed) = changed else { return Err(not_editable(&path)) };
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let wanted = Agent { tools: Some(list.to_vec()), ..agent.clone() };
    write_checked(shelf, Folder { scope: *scope, path: folder }, &path, &changed, |read| {
        // Nothing but the list is another than before.
        Agent { location: wanted.location.clone(), ..read.clone() } == wanted
    })
}

fn not_editable(path: &Path) -> Failure {
    let path = path.display();
    Failure::configuration(format!(
        "{path} is written in a way that cannot be changed safely; edit it by hand"
    ))
}

fn replace_in_toml(text: &str, list: &[String]) -> Option<String> {
    let mut document: toml_edit::DocumentMut = text.parse().ok()?;
    let array: toml_edit::Array = list.iter().map(String::as_str).collect();
    match document.get_mut("tools") {
        // What stands around the old value, such as a comment behind it, stays.
        Some(item) => {
            let decor = item.as_value().map(|value| value.decor().clone());
            *item = toml_edit::value(array);
            if let (Some(value), Some(decor)) = (item.as_value_mut(), decor) {
                *value.decor_mut() = decor;
            }
        }
        None => drop(document.insert("tools", toml_edit::value(array))),
    }
    Some(document.to_string())
}

/// Replaces the key `tools` between the two `---` lines with one line, or adds it as the last one.
/// What the key takes up is told by indentation; the caller reads the outcome again.
fn replace_in_front_matter(text: &str, list: &[String]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = 1 + lines.iter().skip(1).position(|line| line.trim_end() == "---")?;
    let newline = if lines.first()?.ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = format!("tools: {}{newline}", Value::from(list));
    let is_key = |line: &&str| {
        let key = line.split_once(':').map(|(key, _)| key.trim_end());
        matches!(key, Some("tools" | "\"tools\"" | "'tools'"))
    };
    let at = 1 + lines.get(1..end)?.iter().position(is_key).unwrap_or(end - 1);
    let goes_on =
        |line: &&&str| line.starts_with([' ', '\t', '-', ']']) && line.trim_end() != "---";
    let taken =
        if at < end { 1 + lines.get(at + 1..end)?.iter().take_while(goes_on).count() } else { 0 };
    let (before, behind) = (lines.get(..at)?, lines.get(at + taken..)?);
    Some(before.concat() + &line + &behind.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn front_matter_keeps_everything_else() {
        let check = |text: &str, expected: Option<&str>| {
            let changed = replace_in_front_matter(text, &list(&["a", "group:b"]));
            assert_eq!(changed.as_deref(), expected, "{text:?}");
        };
        check(
            "---\ntitle: X\ntools: [read_file]\n# why\nmode: auto\n---\n\ntools: x\n",
            Some("---\ntitle: X\ntools: [\"a\",\"group:b\"]\n# why\nmode: auto\n---\n\ntools: x\n"),
        );
        check(
            "---\ntools:\n- x\n- y\nmode: auto\n---\nP",
            Some("---\ntools: [\"a\",\"group:b\"]\nmode: auto\n---\nP"),
        );
        check("---\ntools:\n  - x\n  # y\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        check("---\ntools: [\n  x,\n]\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        check(
            "---\r\ntitle: X\r\n---\r\nP",
            Some("---\r\ntitle: X\r\ntools: [\"a\",\"group:b\"]\r\n---\r\nP"),
        );
        check("---\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        check("---\ntools: [x]\n", None);
        check("", None);
    }

    #[test]
    fn toml_keeps_everything_else() {
        let check = |text: &str, expected: &str| {
            assert_eq!(replace_in_toml(text, &list(&["a"])).as_deref(), Some(expected), "{text:?}");
        };
        check(
            "# top\nprompt = \"P\"\ntools = [\"x\"] # why\n\n[limits]\nrounds = 3\n",
            "# top\nprompt = \"P\"\ntools = [\"a\"] # why\n\n[limits]\nrounds = 3\n",
        );
        check(
            "prompt = \"P\"\n\n[limits]\nrounds = 3\n",
            "prompt = \"P\"\ntools = [\"a\"]\n\n[limits]\nrounds = 3\n",
        );
        assert!(replace_in_toml("prompt = ", &[]).is_none());
    }
}
