//! Tests of the loader: scopes, clashes, invalid files.

use super::*;

const SKILL: &str = "---\nname: notes\ndescription: Takes notes.\n---\nWrite it down.\n";

#[test]
fn the_built_in_ones_are_right() {
    let library = load(&Folders::default());
    assert_eq!(library.problems, []);
    let assistant = library.agent(GENERAL_ASSISTANT).unwrap();
    assert_eq!((assistant.title.as_str(), &assistant.tools), ("General Assistant", &None));
    assert_eq!(assistant.location, Location::BuiltIn);
    assert_eq!(library.skills[0].name, "create-skill");
    assert!(library.skills[0].body().unwrap().instructions.starts_with("# Create a skill"));
    assert_eq!((library.kits.len(), library.guides.len()), (1, 1));
}

#[test]
fn the_project_comes_before_the_user_and_the_user_before_the_built_in() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "user/a.toml", "prompt = 'user a'");
    put(root, "user/b.toml", "prompt = 'user b'");
    put(root, "project/b.md", "---\n---\nproject b");
    put(root, "project/README.md", "About this folder");
    put(root, "project/notes.txt", "not an agent");
    put(
        root,
        "kits/mine.yaml",
        "kit: careful_edit\ndescription: My own.\nsteps: [{tool: get_current_time}]",
    );
    let mut folders = Folders {
        trusted: true,
        agents: folder(Scope::Project, root, "project"),
        kits: folder(Scope::User, root, "kits"),
        ..Folders::default()
    };
    folders.agents.extend(folder(Scope::User, root, "user"));
    folders.agents.extend(folder(Scope::User, root, "missing"));
    let library = load(&folders);
    assert_eq!(problems(&library, root), [""; 0]);
    let agents: Vec<_> =
        library.agents.iter().map(|agent| (agent.name.as_str(), agent.prompt.as_str())).collect();
    assert_eq!(agents[1..], [("a", "user a"), ("b", "project b")]);
    assert_eq!(agents[0].0, GENERAL_ASSISTANT);
    assert_eq!(library.agent("b").unwrap().location.scope(), Some(Scope::Project));
    assert_eq!(
        library.kits.iter().map(|k| k.description.as_str()).collect::<Vec<_>>(),
        ["My own."]
    );
    // An untrusted workspace adds items but replaces none.
    put(root, "project/c.md", "---\nrole: admin\n---\nproject c");
    folders.trusted = false;
    let library = load(&folders);
    let b = library.agent("b").unwrap();
    assert_eq!((b.prompt.as_str(), b.location.scope()), ("user b", Some(Scope::User)));
    let c = library.agent("c").unwrap();
    assert_eq!((c.prompt.as_str(), c.role.as_str()), ("project c", "agent"));
    assert_eq!(
        problems(&library, root),
        [
            "project/b.md: agent \"b\" is there already, and this workspace is not trusted: it is not used in its place",
            "project/c.md: agent \"c\" has the role agent and not admin: this workspace is not trusted"
        ]
    );
    folders.trusted = true;
    assert_eq!(load(&folders).agent("c").unwrap().role, "admin");
}

#[test]
fn broken_agents_are_problems_and_not_half_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(
        root,
        "p/good.toml",
        "prompt = 'x'\ntools = ['group:files', 'git', 'get_local_time', 'git__*']",
    );
    put(
        root,
        "p/bad-tool.toml",
        "prompt = 'x'\ntools = ['read_file', 'raed_file', 'group:fils', 'server:gti', 'zzz']",
    );
    put(root, "p/bad-key.toml", "prompt = 'x'\ntolos = []");
    put(root, "p/bad-skill.toml", "prompt = 'x'\nskills = ['create-skil']");
    put(root, "p/general-assistant.md", "---\n---\nmine");
    put(root, "p/twice.toml", "prompt = 'x'");
    put(root, "p/twice.md", "---\n---\nx");
    fs::write(root.join("p/latin.toml"), b"prompt = '\xe9'").unwrap();
    put(root, "p/big.toml", &format!("prompt = '{}'", "x".repeat(256 * 1024)));
    put(root, "u/twice.toml", "prompt = 'of the user'");
    let mut folders =
        Folders { trusted: true, agents: folder(Scope::Project, root, "p"), ..Folders::default() };
    folders.agents.extend(folder(Scope::User, root, "u"));
    let library = load(&folders);
    let agents: Vec<_> = library.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(agents, ["general-assistant", "good", "twice"]);
    assert_eq!(library.agent("twice").unwrap().prompt, "of the user");
    assert_eq!(library.agents[0].location, Location::BuiltIn);
    assert_eq!(
        problems(&library, root),
        [
            "p/bad-key.toml: unknown key \"tolos\"; did you mean \"tools\"?",
            "p/bad-skill.toml: skills: unknown skill \"create-skil\"; did you mean \"create-skill\"?",
            "p/bad-tool.toml: tools: unknown tool or list entry \"raed_file\"; did you mean \"read_file\", \"find_files\"?; unknown tool or list entry \"group:fils\"; did you mean \"group:files\"?; unknown tool or list entry \"server:gti\"; did you mean \"server:git\"?; unknown tool or list entry \"zzz\"",
            "p/big.toml: is longer than 256 KB",
            "p/general-assistant.md: the agent \"general-assistant\" is built in and cannot be replaced; give this one another name",
            "p/latin.toml: is not UTF-8 text",
            "p/twice.md: agent \"twice\" is also defined in p/twice.toml; neither is loaded",
            "p/twice.toml: agent \"twice\" is also defined in p/twice.md; neither is loaded",
        ]
    );
}

#[test]
fn two_skills_of_one_name_name_both_paths_and_neither_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "user/notes/SKILL.md", SKILL);
    put(root, "project/notes/SKILL.md", SKILL);
    put(root, "project/other/SKILL.md", &SKILL.replace("notes", "other"));
    put(root, "project/create-skill/SKILL.md", &SKILL.replace("notes", "create-skill"));
    put(root, "project/no-skill/README.md", "nothing");
    put(root, "project/_draft/SKILL.md", "broken");
    put(root, "project/.hidden/SKILL.md", "broken");
    let mut folders = Folders { skills: folder(Scope::User, root, "user"), ..Folders::default() };
    folders.skills.extend(folder(Scope::Project, root, "project"));
    let library = load(&folders);
    let names: Vec<_> = library.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["create-skill", "other"]);
    assert_eq!(library.skills[0].location, Location::BuiltIn);
    assert_eq!(
        problems(&library, root),
        [
            "project/create-skill/SKILL.md: the skill \"create-skill\" is built in and cannot be replaced; give this one another name",
            "user/notes/SKILL.md: skill \"notes\" is also defined in project/notes/SKILL.md; neither is loaded",
            "project/notes/SKILL.md: skill \"notes\" is also defined in user/notes/SKILL.md; neither is loaded",
        ]
    );
    let unknown = library.skill("othr").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no skill \"othr\"; did you mean \"other\"?");
}

#[cfg(unix)]
#[test]
fn one_skill_under_two_paths_is_one_skill() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, ".agents/skills/notes/SKILL.md", SKILL);
    fs::create_dir_all(root.join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", root.join(".claude/skills")).unwrap();
    let mut folders =
        Folders { skills: folder(Scope::Project, root, ".agents/skills"), ..Folders::default() };
    folders.skills.extend(folder(Scope::Project, root, ".claude/skills"));
    let library = load(&folders);
    assert_eq!(problems(&library, root), [""; 0]);
    assert!(library.skill("notes").is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_its_folder_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "secret", SKILL);
    fs::create_dir_all(root.join("skills/notes")).unwrap();
    std::os::unix::fs::symlink("../../secret", root.join("skills/notes/SKILL.md")).unwrap();
    let skills = folder(Scope::Project, root, "skills");
    let library = load(&Folders { skills, ..Folders::default() });
    let link = "skills/notes/SKILL.md: is a link that leads out of its folder";
    assert_eq!(problems(&library, root), [link]);
}

#[test]
fn a_kit_of_a_wrong_parameter_is_a_problem() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "k/x.yml", "kit: x\ndescription: d\nsteps: [{tool: read_file, params: {file: a}}]");
    put(root, "g/x.yaml", "tool: read_file\ntips: [a]\n");
    put(root, "g/y.yaml", "tool: read_file\ntips: [b]\n");
    let folders = Folders {
        kits: folder(Scope::User, root, "k"),
        guides: folder(Scope::User, root, "g"),
        ..Folders::default()
    };
    let library = load(&folders);
    assert_eq!((library.kits.len(), library.guides.len()), (1, 1));
    assert_eq!(
        problems(&library, root),
        [
            "k/x.yml: step 1 (read_file): path: expected this required parameter (string), got nothing. Add it.",
            "g/x.yaml: guide of the tool \"read_file\" is also defined in g/y.yaml; neither is loaded",
            "g/y.yaml: guide of the tool \"read_file\" is also defined in g/x.yaml; neither is loaded",
        ]
    );
}

#[test]
fn slash_finds_a_skill_and_keeps_the_message() {
    let library = load(&Folders::default());
    let check = |text: &str, expected: Option<&str>| {
        let found = parse_slash_command(text, &library);
        assert_eq!(found.map(|(_, rest)| rest), expected, "{text}");
        assert!(found.is_none_or(|(skill, _)| skill.name == "create-skill"));
    };
    check("/create-skill for release notes", Some("for release notes"));
    check("/create-skill\n\nfor notes ", Some("for notes "));
    check("/create-skill", Some(""));
    check("/create-skills", None);
    check("/create", None);
    check(" /create-skill", None);
    check("create-skill", None);
    check("/", None);
    check("", None);
}

#[test]
fn a_handle_is_replaced_for_all_holders_and_snapshots_stay() {
    let handle = LibraryHandle::new(load(&Folders::default()));
    let (other, before) = (handle.clone(), handle.current());
    handle.replace(Library::default());
    assert_eq!(other.current().agents.len(), 0);
    assert_eq!(before.agents.len(), 1);
}

#[test]
fn a_skill_that_is_off_stays_off_when_files_are_read_again() {
    let handle = LibraryHandle::new(load(&Folders::default()));
    let all = handle.current().skills.len();
    handle.set_skills_off(["create-skill".to_owned(), "gone".to_owned()].into());
    assert!(handle.current().skill("create-skill").is_err());
    assert_eq!(handle.current().skills_off.len(), 1);
    handle.replace(load(&Folders::default()));
    assert!(handle.current().skill("create-skill").is_err());
    handle.set_skills_off([].into());
    assert_eq!((handle.current().skills.len(), handle.current().skills_off.len()), (all, 0));
}
