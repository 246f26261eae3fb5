//! Tests of skill front matter: the standard's rules and Toolcrib's additional fields.

use serde_json::json;

use super::*;

fn read(front: &str) -> Result<Skill, Vec<String>> {
    let text = format!("---\n{front}\n---\n\n# Do it\n");
    parse("pdf-tools", &text, Location::BuiltIn).map(|body| {
        assert_eq!(body.instructions, "# Do it");
        body.skill
    })
}

#[test]
fn every_field_is_read() {
    let skill = read(
        "name: pdf-tools
display_name: PDF tools
description: >
  Reads PDF files.
  Use it for PDFs.
license: MIT
compatibility: Needs a network.
metadata: {author: example, version: \"3.0\"}
allowed-tools: Read Bash(git add:*) Bash(git push:*), fetch_url mcp__git__log mcp__jira
version: 1.10
tools_required: [read_file]
parameters:
  - {name: path, type: string, description: The file., required: true}
  - name: page",
    )
    .unwrap();
    assert_eq!(skill.description, "Reads PDF files. Use it for PDFs.");
    assert_eq!((skill.version.as_str(), skill.license.as_deref()), ("1.10", Some("MIT")));
    assert_eq!(skill.metadata["author"], json!("example"));
    let allowed = [
        "read_file",
        "list_dir",
        "file_info",
        "execute_shell_command",
        "fetch_url",
        "git__log",
        "server:jira",
    ];
    assert_eq!(skill.allowed_tools, allowed);
    assert_eq!(skill.tools_required, ["read_file"]);
    assert_eq!(skill.parameters.len(), 2);
    assert!(skill.parameters[0].required && !skill.parameters[1].required);
}

#[test]
fn defaults_and_other_spellings() {
    let base = "name: pdf-tools\ndescription: d";
    let skill = read(base).unwrap();
    assert_eq!((skill.version.as_str(), skill.allowed_tools.len()), ("1", 0));
    let version = |more: &str| read(&format!("{base}\n{more}")).unwrap().version;
    assert_eq!(version("metadata: {version: '2.1'}"), "2.1");
    assert_eq!(version("metadata: {version: 2}"), "2");
    assert_eq!(version("version: 3\nmetadata: {version: 2}"), "3");
    let tools = |more: &str| read(&format!("{base}\n{more}")).unwrap().allowed_tools;
    assert_eq!(tools("allowed_tools: [read_file, 'group:files']"), ["read_file", "group:files"]);
    assert_eq!(tools("allowed-tools:"), [""; 0]);
    // Extensions of other programs are ignored.
    assert!(read(&format!("{base}\nuser-invocable: true\nhooks: {{a: 1}}\nmodel: x")).is_ok());
}

#[test]
fn bad_front_matter() {
    let check = |front: &str, faults: &[&str]| {
        let expected: Vec<String> = faults.iter().map(|fault| (*fault).to_owned()).collect();
        assert_eq!(read(front).map(|_| ()), Err(expected), "{front}");
    };
    let long = "d".repeat(1025);
    check("name: pdf-tools", &["the key \"description\" is missing"]);
    check("description: d", &["the key \"name\" is missing"]);
    check(
        "name: other\ndescription: d",
        &["name \"other\" is not the folder's name, \"pdf-tools\""],
    );
    check(
        "name: PDF-Tools\ndescription: ' '",
        &[
            "name \"PDF-Tools\" may hold only lower-case letters a-z, digits and hyphens",
            "description is empty",
        ],
    );
    check(
        &format!("name: pdf-tools\ndescription: {long}\ncompatibility: {}", &long[..501]),
        &[
            "description has 1025 characters; at most 1024 are allowed",
            "compatibility has 501 characters; at most 500 are allowed",
        ],
    );
    check(
        "name: pdf-tools\ndescription: d\nallowed-tool: Read",
        &["unknown key \"allowed-tool\"; did you mean \"allowed-tools\", \"allowed_tools\"?"],
    );
    check(
        "name: pdf-tools\ndescription: d\nallowed-tools: 5",
        &[
            "a list of tools must be names separated by blanks, or a list of names at line 4, column 16",
        ],
    );
    check(
        "name: pdf-tools\ndescription: d\nallowed-tools: a\nallowed_tools: b",
        &["duplicate field `allowed-tools`"],
    );
    check(
        "name: pdf-tools\ndescription: d\nmetadata: x",
        &["expected mapping start at line 4, column 11"],
    );
    check("- a", &["expected mapping start at line 2, column 1"]);
    let text = "---\nname: pdf-tools\ndescription: d\n---\n\n";
    let empty = parse("pdf-tools", text, Location::BuiltIn).unwrap_err();
    assert_eq!(empty, ["the instructions are missing: the text behind the front matter is empty"]);
}

#[test]
fn the_body_is_read_from_disk_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pdf-tools");
    let path = folder.join(FILE);
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("scripts/run.sh"), "echo").unwrap();
    let text = "---\nname: pdf-tools\ndescription: d\n---\nOne";
    std::fs::write(&path, text).unwrap();
    let place = Location::File { scope: crate::library::Scope::User, path: path.clone() };
    let skill = super::read(&folder, &place).unwrap().skill;
    let body = skill.body().unwrap();
    assert_eq!(
        (body.instructions.as_str(), body.files),
        ("One", vec!["scripts/run.sh".to_owned()])
    );
    std::fs::write(
        &path,
        text.replace("One", "Two").replace("d\n", "d\nallowed-tools: read_file\n"),
    )
    .unwrap();
    let body = skill.body().unwrap();
    assert_eq!((body.instructions.as_str(), body.skill.allowed_tools.len()), ("Two", 1));
    std::fs::write(&path, "broken").unwrap();
    assert_eq!(
        skill.body().unwrap_err(),
        "does not begin with front matter: the first line must be ---"
    );
}
