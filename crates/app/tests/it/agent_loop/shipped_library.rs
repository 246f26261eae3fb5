//! The shipped agents, skills, kits and guides are valid for the shipped tools.

use super::*;

#[tokio::test]
async fn the_built_in_kit_and_guide_fit_the_real_schemas() {
    let home = Home::new();
    let process = home.open().await;
    let library = process.runner.library();
    assert_eq!(library.problems, []);
    assert!(!library.kits.is_empty() && !library.guides.is_empty() && !library.skills.is_empty());
    let guide = &library.guides[0];
    assert!(process.toolcrib.spec(&guide.tool).is_some());
    // Guides are in the prompt of an agent that has their tools, and in no other.
    let model = Watched::new([ScriptTurn::say("hello")]);
    process.run(&model).await;
    let system = model.asked()[0].system.clone();
    assert!(system.contains(&format!("### {}", guide.tool)), "{system}");
    home.file("agents/reader.md", "---\ntools: [read_file]\n---\nYou only read.");
    let mut reader = home.open().await;
    reader.agent = "reader";
    let model = Watched::new([ScriptTurn::say("hello")]);
    reader.run(&model).await;
    let system = model.asked()[0].system.clone();
    assert!(!system.contains(&format!("### {}", guide.tool)), "{system}");
}

#[tokio::test]
async fn a_broken_file_is_a_problem_and_everything_else_is_there() {
    let home = Home::new();
    home.file("agents/wrong.md", "---\ntools: [reed_file]\n---\nHm.")
        .file("agents/right.md", "---\ntools: [read_file]\n---\nYou only read.");
    let process = home.open().await;
    let library = process.runner.library();
    let [problem] = &library.problems[..] else { panic!("{:?}", library.problems) };
    assert!(problem.to_string().contains("did you mean \"read_file\""), "{problem}");
    assert!(library.agent("right").is_ok() && library.agent("wrong").is_err());
}
