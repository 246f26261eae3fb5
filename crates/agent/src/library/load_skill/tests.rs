//! Tests of `load_skill` through the engine.

use std::fs;

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Batch, Call, Entry, Invoker as _, Origin, Outcome};
use toolcrib_engine::Engine;

use crate::library::{Folder, Folders, KnownTools, Library, Scope};

use super::*;

async fn call(library: &LibraryHandle, args: Value) -> Outcome {
    let engine = Engine::builder().build();
    let source = FixedSource::new("agent", vec![Entry::Local(handler(library.clone()))]);
    engine.catalog().attach(&source).await.unwrap();
    let calls = vec![Call::new(NAME, args)];
    let answers = engine.invoke(Batch::new(Origin::Model, calls)).await;
    answers[0].outcome().unwrap().clone()
}

fn library(folders: &Folders) -> LibraryHandle {
    LibraryHandle::new(Library::load(folders, &KnownTools { names: &[], check: &|_, _| Ok(()) }))
}

#[tokio::test]
async fn a_skill_is_loaded_with_its_files_and_its_limits() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("notes");
    fs::create_dir_all(folder.join("assets")).unwrap();
    fs::write(folder.join("assets/form.md"), "x").unwrap();
    let text = "---\nname: notes\ndescription: d\nallowed-tools: read_file\nversion: '2'\ntools_required: read_file\n---\nWrite it down.";
    fs::write(folder.join("SKILL.md"), text).unwrap();
    let skills = vec![Folder { scope: Scope::User, path: dir.path().to_owned() }];
    let handle = library(&Folders { skills, ..Folders::default() });
    let outcome = call(&handle, json!({"skill": "/notes"})).await;
    let result = outcome.result.unwrap();
    let expected = json!({"skill": "notes", "version": "2", "allowed_tools": ["read_file"]});
    assert_eq!(result.structured, Some(expected));
    let shown = format!("{result:?}");
    for part in [
        "# Skill notes (version 2)",
        "Write it down.",
        "needs these tools: read_file.",
        "- assets/form.md",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    fs::remove_dir_all(&folder).unwrap();
    let gone = call(&handle, json!({"name": "notes"})).await.result.unwrap_err();
    assert_eq!(
        gone.message,
        "The skill \"notes\" cannot be loaded now: its file is missing or invalid. Tell the user, and continue without it."
    );
}

#[tokio::test]
async fn the_files_of_a_skill_are_read_by_their_listed_names_and_nothing_else_is() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("notes");
    fs::create_dir_all(folder.join("assets")).unwrap();
    fs::write(folder.join("assets/form.md"), "Name: ____").unwrap();
    fs::write(folder.join("assets/picture.png"), b"\x89PNG\xff\x00").unwrap();
    fs::write(folder.join("long.md"), "x".repeat(256 * 1024 + 1)).unwrap();
    fs::write(folder.join(".hidden"), "no").unwrap();
    fs::write(dir.path().join("beside.md"), "no").unwrap();
    std::os::unix::fs::symlink(dir.path().join("beside.md"), folder.join("link.md")).unwrap();
    let text = "---\nname: notes\ndescription: d\nallowed-tools: read_file\n---\nWrite it down.";
    fs::write(folder.join("SKILL.md"), text).unwrap();
    let skills = vec![Folder { scope: Scope::User, path: dir.path().to_owned() }];
    let handle = library(&Folders { skills, ..Folders::default() });
    let listing = call(&handle, json!({"name": "notes"})).await.result.unwrap().result;
    let listing = listing.as_str().unwrap();
    let hint = "such as {\"name\":\"notes\",\"file\":\"assets/form.md\"}:\n- assets/form.md\n";
    assert!(listing.contains(hint), "{listing}");
    assert!(!listing.contains(dir.path().to_str().unwrap()), "{listing}");
    for name in ["assets/form.md", "./assets/form.md"] {
        let read = call(&handle, json!({"name": "notes", "file": name})).await.result.unwrap();
        assert_eq!(read.result, "# File assets/form.md of the skill notes\n\nName: ____");
        assert_eq!(read.structured.unwrap()["allowed_tools"], json!(["read_file"]));
    }
    let listed = "Its files are: assets/form.md, assets/picture.png, long.md.";
    for (file, words) in [
        ("../beside.md", listed),
        ("/etc/hosts", listed),
        ("link.md", listed),
        (".hidden", listed),
        ("SKILL.md", listed),
        ("", listed),
        ("assets/picture.png", "is not UTF-8 text"),
        ("long.md", "is longer than 256 KB"),
    ] {
        let error = call(&handle, json!({"name": "notes", "file": file})).await.result.unwrap_err();
        assert!(error.message.contains(words), "{file}: {}", error.message);
    }
    let none = call(&handle, json!({"name": "create-skill", "file": "x"})).await;
    assert!(none.result.unwrap_err().message.contains("It has no files"));
}

#[tokio::test]
async fn unknown_skills_are_told_with_names() {
    let handle = library(&Folders::default());
    let check = async |handle: &LibraryHandle, name: &str, message: &str| {
        let error = call(handle, json!({"name": name})).await.result.unwrap_err();
        assert_eq!(error.message, message);
    };
    check(
        &handle,
        "create_skill",
        "There is no skill \"create_skill\". Did you mean create-skill?",
    )
    .await;
    check(&handle, "weather", "There is no skill \"weather\". The skills are: create-skill.").await;
    let none = LibraryHandle::default();
    check(&none, "x", "There is no skill \"x\". There are no skills; continue without one.").await;
}

#[test]
fn its_definition_is_that_of_an_innate_read() {
    let handler = handler(LibraryHandle::default());
    let spec = handler.spec();
    assert_eq!((spec.name.as_str(), spec.tier, spec.risk), (NAME, Tier::Innate, Risk::Safe));
    assert_eq!((spec.effect, spec.timeout), (Effect::Read, defaults::TIMEOUT_SIMPLE));
}
