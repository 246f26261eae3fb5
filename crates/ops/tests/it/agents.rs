//! Operations on agents.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_agent::library::{Folder, GENERAL_ASSISTANT, Scope};
use toolcrib_app::Secrets;
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::agents::{
    self, AddAgentRequest, AgentFiles, AgentFormat, AgentToolsRequest, ChangeAgentToolsRequest,
    PutAgentRequest, RemoveAgentRequest, ShowAgentRequest, ToolListChange,
};
use toolcrib_ops::{ErrorClass, ExpectedVersion, OpError};

use crate::fixture::Fixture;
use crate::library::OwnLibrary;

fn files<'a>(
    fixture: &'a Fixture,
    own: &'a OwnLibrary,
    changed: &'a (dyn Fn() + Sync),
) -> AgentFiles<'a> {
    AgentFiles {
        library: own.context(fixture),
        folder: Folder { scope: Scope::User, path: own.folder.path().join("agents") },
        recorder: Recorder::None,
        changed,
    }
}

fn put<'a>(name: &str, text: &str, expected: ExpectedVersion<'a>) -> PutAgentRequest<'a> {
    PutAgentRequest { name: name.to_owned(), text: text.to_owned(), format: None, expected }
}

#[tokio::test]
async fn agents_are_listed_and_shown_with_what_their_tools_come_to() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    own.write("agents/reader.md", "---\ntitle: Reader\ntools: [greet]\n---\n\nYou read.\n");
    own.write("agents/bad.md", "no front matter");
    let ctx = files(&fixture, &own, &|| ());
    let reply = agents::list(&ctx);
    assert_eq!(reply.agents[0].name, GENERAL_ASSISTANT);
    let at = reply.agents.iter().position(|agent| agent.name == "reader").unwrap();
    assert_eq!((reply.tool_counts[0], reply.tool_counts[at]), (None, Some(1)));
    assert_eq!(reply.problems.len(), 1, "{:?}", reply.problems);
    assert_eq!(agents::problems_of_agent(&ctx, "bad"), reply.problems);
    let shown = agents::show(&ctx, &ShowAgentRequest { name: "reader".to_owned() }).unwrap();
    assert_eq!(shown.agent, reply.agents[at]);
    assert!(shown.agent.writable && !reply.agents[0].writable);
    assert_eq!(
        (shown.tools.resolved.as_slice(), shown.tools.excluded.len()),
        (&["greet".to_owned()][..], 0)
    );
    assert_eq!(shown.tools.offered, ["greet"]);
    // With the kill switch engaged, the agent is offered no tool, and the reply gives the reason.
    fixture.toolcrib.kill_switch().engage("a test").unwrap();
    let shown = agents::show(&ctx, &ShowAgentRequest { name: "reader".to_owned() }).unwrap();
    assert_eq!((shown.tools.offered.len(), shown.tools.excluded.len()), (0, 1));
    let missing = agents::show(&ctx, &ShowAgentRequest { name: "raeder".to_owned() }).unwrap_err();
    assert!(
        matches!(&missing, OpError::NotFound { near, .. } if *near == ["reader"]),
        "{missing:?}"
    );
}

#[tokio::test]
async fn an_agent_is_added_from_a_template_or_as_a_copy() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    let changes = AtomicUsize::new(0);
    let changed = || {
        changes.fetch_add(1, Ordering::Relaxed);
    };
    let secrets = Secrets::default();
    let ctx = AgentFiles {
        recorder: Recorder::Audit { store: fixture.store(), secrets: &secrets },
        ..files(&fixture, &own, &changed)
    };
    let request = |name: &str, from: Option<&str>| AddAgentRequest {
        name: name.to_owned(),
        from: from.map(str::to_owned),
    };
    let made = agents::add(&ctx, request("reviewer", None)).await.unwrap();
    assert_eq!((made.agent.title.as_str(), made.agent.writable), ("Reviewer", true));
    let copy = agents::add(&ctx, request("mine", Some(GENERAL_ASSISTANT))).await.unwrap();
    let general = ShowAgentRequest { name: GENERAL_ASSISTANT.to_owned() };
    let general = agents::show(&ctx, &general).unwrap();
    assert_eq!((copy.prompt, copy.agent.tools), (general.prompt, general.agent.tools));
    assert_eq!(copy.agent.title, "Mine", "a copy is told apart by its title");
    let again = agents::add(&ctx, request("mine", None)).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::Conflict);
    let unknown = agents::add(&ctx, request("other", Some("none"))).await.unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
    let escape = agents::add(&ctx, request("../escape", None)).await.unwrap_err();
    assert_eq!(escape.class(), ErrorClass::Invalid);
    assert_eq!(changes.load(Ordering::Relaxed), 2);
    let records = fixture.toolcrib.stores().audit.records(LOCAL_CHAIN, 0, 100).await.unwrap();
    let added = records.iter().filter(|record| record.text.contains("agent.add"));
    assert_eq!(added.count(), 2);
}

#[tokio::test]
async fn a_file_is_written_whole_and_only_over_the_version_that_was_read() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    let text = "---\ntools: [greet]\n---\n\nYou read.\n";
    let ctx = files(&fixture, &own, &|| ());
    let reply = agents::put(&ctx, put("reader", text, ExpectedVersion::Unnamed)).await.unwrap();
    assert!(reply.is_new && reply.agent.text.as_deref() == Some(text));
    let class = async |expected: ExpectedVersion<'_>| {
        let ctx = files(&fixture, &own, &|| ());
        agents::put(&ctx, put("reader", text, expected)).await.err().map(|error| error.class())
    };
    assert_eq!(class(ExpectedVersion::Unnamed).await, Some(ErrorClass::NeedsVersion));
    assert_eq!(class(ExpectedVersion::New).await, Some(ErrorClass::Conflict));
    assert_eq!(class(ExpectedVersion::Matching(&|_| false)).await, Some(ErrorClass::Stale));
    assert_eq!(class(ExpectedVersion::Matching(&|read| read == text)).await, None);
    let broken = put("reader", "---\nodd: 1\n---\nP", ExpectedVersion::Matching(&|_| true));
    let broken = agents::put(&ctx, broken).await.unwrap_err();
    assert_eq!((broken.class(), broken.exit_code()), (ErrorClass::Invalid, 3), "{broken}");
    assert_eq!(own.read("agents/reader.md"), text);
    // In the other format, the file replaces the old one.
    let toml = PutAgentRequest {
        format: Some(AgentFormat::Toml),
        ..put("reader", "prompt = \"You write.\"\n", ExpectedVersion::Matching(&|_| true))
    };
    let changed = agents::put(&ctx, toml).await.unwrap();
    assert_eq!((changed.is_new, changed.agent.prompt.as_str()), (false, "You write."));
    let left = std::fs::read_dir(own.folder.path().join("agents")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["reader.toml"]);
    let remove = |expected| RemoveAgentRequest { name: "reader".to_owned(), expected };
    let ctx = files(&fixture, &own, &|| ());
    let unnamed = agents::remove(&ctx, remove(ExpectedVersion::Unnamed)).await.unwrap_err();
    assert_eq!(unnamed.class(), ErrorClass::NeedsVersion);
    agents::remove(&ctx, remove(ExpectedVersion::Matching(&|_| true))).await.unwrap();
    let request = RemoveAgentRequest {
        name: GENERAL_ASSISTANT.to_owned(),
        expected: ExpectedVersion::Unnamed,
    };
    let built_in = agents::remove(&ctx, request).await.unwrap_err();
    assert_eq!(built_in.class(), ErrorClass::Invalid, "its name is not the user's");
}

#[tokio::test]
async fn the_list_of_tools_is_changed_and_nothing_else() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    own.write("agents/reader.md", "---\ntitle: R\ntools: [greet]\n# why\nmode: auto\n---\n\nP\n");
    let change = async |name: &str, change: ToolListChange| {
        let ctx = files(&fixture, &own, &|| ());
        agents::change_tools(&ctx, ChangeAgentToolsRequest { name: name.to_owned(), change }).await
    };
    let has = |reply: &agents::AgentToolsReply| {
        reply.tools.iter().find(|row| row.tool == "greet").map(|row| row.has)
    };
    let request = AgentToolsRequest { name: "reader".to_owned() };
    let before = agents::tools(&files(&fixture, &own, &|| ()), &request).unwrap();
    assert_eq!(
        (has(&before), before.list.as_deref()),
        (Some(true), Some(&["greet".to_owned()][..]))
    );
    let edit = ToolListChange::Edit { add: Vec::new(), remove: vec!["greet".to_owned()] };
    assert_eq!(has(&change("reader", edit).await.unwrap()), Some(false));
    assert_eq!(
        own.read("agents/reader.md"),
        "---\ntitle: R\ntools: []\n# why\nmode: auto\n---\n\nP\n"
    );
    let set = ToolListChange::Set(vec![" greet ".to_owned(), String::new()]);
    assert_eq!(has(&change("reader", set.clone()).await.unwrap()), Some(true));
    let unknown = change("reader", ToolListChange::Set(vec!["gret".to_owned()])).await.unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::Invalid);
    assert!(unknown.to_string().contains("greet"), "{unknown}");
    let built_in = change(GENERAL_ASSISTANT, set).await.unwrap_err();
    assert_eq!(built_in.class(), ErrorClass::Conflict);
}
