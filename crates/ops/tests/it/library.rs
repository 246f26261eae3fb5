//! Operations on skills, kits and the faults of the library.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;
use toolcrib_agent::library::{Folder, Folders, Scope};
use toolcrib_app::runner;
use toolcrib_ops::kits::{self, ShowKitRequest};
use toolcrib_ops::library::{self, LibraryContext};
use toolcrib_ops::skills::{self, AddSkillRequest, ShowSkillRequest, ValidateSkillRequest};
use toolcrib_ops::{ErrorClass, OpError};

use crate::fixture::Fixture;

/// Folders of a user's own library.
pub(crate) struct OwnLibrary {
    pub(crate) folder: TempDir,
    pub(crate) folders: Folders,
}

impl OwnLibrary {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let of = |kind: &str| {
            let path = folder.path().join(kind);
            fs::create_dir(&path).unwrap();
            vec![Folder { scope: Scope::User, path }]
        };
        let folders = Folders {
            agents: of("agents"),
            skills: of("skills"),
            kits: of("kits"),
            ..Folders::default()
        };
        Self { folder, folders }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    /// Returns the context with the library read from its current files.
    pub(crate) fn context<'a>(&'a self, fixture: &'a Fixture) -> LibraryContext<'a> {
        let toolcrib = &fixture.toolcrib;
        let library = Arc::new(runner::load_library(toolcrib, &self.folders));
        LibraryContext { toolcrib, library, folders: &self.folders }
    }
}

const POEMS: &str = "---\nname: poems\ndescription: Writes poems. Use it for verse.\nlicense: MIT\n---\n\nWrite in rhyme.\n";

#[tokio::test]
async fn skills_are_listed_shown_and_validated() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    own.write("skills/poems/SKILL.md", POEMS);
    own.write("skills/bad/SKILL.md", "---\nname: bad\n---\n\nx\n");
    let ctx = own.context(&fixture);
    let reply = skills::list(&ctx);
    let row = reply.skills.iter().find(|skill| skill.name == "poems").unwrap();
    assert_eq!((row.source.word(), row.license.as_deref()), ("user", Some("MIT")));
    assert!(row.place.ends_with("skills/poems/SKILL.md"), "{}", row.place);
    assert!(reply.problems.iter().any(|problem| problem.path.contains("bad")), "{reply:?}");
    let shown = skills::show(&ctx, &ShowSkillRequest { name: "poems".to_owned() }).unwrap();
    assert_eq!((&shown.skill, shown.instructions.trim()), (row, "Write in rhyme."));
    let missing = skills::show(&ctx, &ShowSkillRequest { name: "poem".to_owned() }).unwrap_err();
    assert!(
        matches!(&missing, OpError::NotFound { near, .. } if *near == ["poems"]),
        "{missing:?}"
    );
    let by_name = ValidateSkillRequest::Name("poems".to_owned());
    assert!(skills::validate(&ctx, by_name).unwrap().valid);
    let bad = own.folder.path().join("skills/bad");
    let report = skills::validate(&ctx, ValidateSkillRequest::Path(bad)).unwrap();
    assert!(!report.valid && !report.problems.is_empty());
    let none = ValidateSkillRequest::Path(own.folder.path().join("none"));
    assert_eq!(skills::validate(&ctx, none).unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(library::problems(&ctx).problems, reply.problems);
}

#[tokio::test]
async fn a_skill_is_copied_once_and_only_whole() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    own.write("source/poems/SKILL.md", POEMS);
    own.write("source/bad/SKILL.md", "no front matter");
    let request = |name: &str| AddSkillRequest {
        from: own.folder.path().join("source").join(name),
        to: own.folder.path().join("skills"),
    };
    let added = skills::add(&own.context(&fixture), &request("poems")).unwrap();
    assert_eq!(added.name, "poems");
    assert_eq!(own.read("skills/poems/SKILL.md"), POEMS);
    let again = skills::add(&own.context(&fixture), &request("poems")).unwrap_err();
    assert_eq!(again.class(), ErrorClass::Conflict);
    let bad = skills::add(&own.context(&fixture), &request("bad")).unwrap_err();
    assert!(matches!(bad, OpError::Unusable(_)) && bad.exit_code() == 3, "{bad:?}");
    assert!(!own.folder.path().join("skills/bad").exists());
    let none = skills::add(&own.context(&fixture), &request("none")).unwrap_err();
    assert_eq!(none.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn kits_are_listed_and_shown() {
    let (fixture, own) = (Fixture::new().await, OwnLibrary::new());
    let step = "tool: greet\n    params: {}";
    own.write(
        "kits/hello.yaml",
        &format!("tool_kit: hello\ndescription: Greets twice.\nsteps:\n  - {step}\n  - {step}\n"),
    );
    own.write("kits/bad.yaml", "tool_kit: bad\n");
    let ctx = own.context(&fixture);
    let reply = kits::list(&ctx);
    let row = reply.kits.iter().find(|kit| kit.name == "hello").unwrap();
    assert_eq!(row.tools, ["greet"]);
    assert!(reply.problems.iter().any(|problem| problem.path.ends_with("bad.yaml")), "{reply:?}");
    let shown = kits::show(&ctx, &ShowKitRequest { name: "hello".to_owned() }).unwrap();
    assert_eq!(&shown, row);
    let missing = kits::show(&ctx, &ShowKitRequest { name: "none".to_owned() }).unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);
}
