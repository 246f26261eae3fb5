//! The tools `goal_pursuit` and `goals`.

use super::*;
use crate::goal::{GoalEnd, GoalStatus};

#[tokio::test]
async fn a_goal_is_started_ends_and_is_delivered_once() {
    let tools = tools(RunId::fresh());
    let in_conversation = |conversation: &str| {
        let context = Context {
            owner: "ann".into(),
            conversation: conversation.into(),
            agent: "baker".into(),
            ..Context::default()
        };
        let view = toolcrib_core::ViewRequest {
            agent: Some(vec!["read_file".into(), "goals".into()]),
            ..toolcrib_core::ViewRequest::default()
        };
        CallCtx {
            context: Arc::new(context),
            view: Arc::new(view),
            ..ctx("ann", Some(RunId::fresh()))
        }
    };
    let here = in_conversation("c1");
    let goal = json!({"goal": "Compare the libraries."});
    let started = call(&tools, &here, "goal_pursuit", goal.clone()).await.unwrap();
    let started = started.structured.unwrap();
    assert_eq!((&started["success"], &started["status"]), (&json!(true), &json!("pending")));
    let id = started["pursuit_id"].as_str().unwrap().to_owned();
    let pursued = tools.goals.to_pursue().await.unwrap();
    assert_eq!((pursued.len(), &*pursued[0].0, &*pursued[0].1.agent), (1, "ann", "baker"));
    // The goal's run has no more tools than the run that started it.
    assert_eq!(pursued[0].1.tools.as_ref().unwrap().len(), 2);
    let conversation = toolcrib_core::ConversationId::fresh();
    tools.goals.started("ann", &id, RunId::fresh(), Some(conversation)).await.unwrap();
    assert!(tools.goals.deliver("ann", "c1").await.unwrap().is_empty());
    let end = GoalEnd { ok: true, result: "Use A.".into(), source: Some("fetch_url x.org".into()) };
    tools.goals.ended("ann", &id, &end).await.unwrap();
    assert!(tools.goals.deliver("ann", "other").await.unwrap().is_empty());
    assert_eq!(tools.goals.deliver("ann", "c1").await.unwrap().len(), 1);
    assert!(tools.goals.deliver("ann", "c1").await.unwrap().is_empty());
    let inspect = json!({"action": "inspect", "goal_id": id});
    let seen = call(&tools, &here, "goals", inspect).await.unwrap();
    assert_eq!(seen.trust, Some(Trust::External));
    assert_eq!(seen.structured.unwrap()["result"], "Use A.");
    assert!(tools.goals.to_pursue().await.unwrap().is_empty());
    // The depth of goals that start goals is limited.
    let at_depth = |depth| CallCtx {
        context: Arc::new(Context { depth, ..Context::clone(&here.context) }),
        ..here.clone()
    };
    call(&tools, &at_depth(1), "goal_pursuit", goal.clone()).await.unwrap();
    let refused = call(&tools, &at_depth(2), "goal_pursuit", goal).await.unwrap_err();
    assert!(refused.message.contains("Do it in this run instead"), "{}", refused.message);
}

/// Each goal ends immediately, so the limit of open goals does not apply.
#[tokio::test]
async fn models_start_a_bounded_number_of_goals_per_hour() {
    let tools = tools(RunId::fresh());
    let end = GoalEnd { ok: true, result: "Done.".into(), source: None };
    let goal = json!({"goal": "Compare the libraries."});
    for _ in 0..crate::goal::MAX_MODEL_GOALS_PER_HOUR {
        let started = call(&tools, &ctx("ann", None), "goal_pursuit", goal.clone()).await.unwrap();
        let started = started.structured.unwrap();
        tools.goals.ended("ann", started["pursuit_id"].as_str().unwrap(), &end).await.unwrap();
    }
    let refused = call(&tools, &ctx("ann", None), "goal_pursuit", goal).await.unwrap_err();
    assert!(refused.message.contains("within the last hour"), "{}", refused.message);
    let writer = crate::Writer { owner: "ann".into(), author: Default::default(), untrusted: None };
    let new = crate::goal::NewGoal { goal: "Mine.".into(), ..Default::default() };
    tools.goals.start(&writer, new).await.unwrap();
}

#[tokio::test]
async fn outside_text_waits_for_a_person_and_a_closed_goal_stays_closed() {
    let dirty = RunId::fresh();
    let tools = tools(dirty);
    let goal = json!({"goal": "Send the files."});
    let started = call(&tools, &ctx("ann", Some(dirty)), "goal_pursuit", goal).await.unwrap();
    let started = started.structured.unwrap();
    assert_eq!(started["status"], "waiting");
    assert!(started["response"].as_str().unwrap().contains("toolcrib goal resume goal_"));
    assert!(tools.goals.to_pursue().await.unwrap().is_empty());
    let id = started["pursuit_id"].as_str().unwrap();
    let writer = crate::Writer { owner: "ann".into(), author: Default::default(), untrusted: None };
    tools.goals.resume(&writer, id).await.unwrap();
    assert_eq!(tools.goals.to_pursue().await.unwrap().len(), 1);
    tools.goals.started("ann", id, RunId::fresh(), None).await.unwrap();
    let close = json!({"action": "close", "goal_id": id});
    call(&tools, &ctx("ann", None), "goals", close.clone()).await.unwrap();
    // A daemon must still stop its run.
    assert_eq!(tools.goals.to_pursue().await.unwrap().len(), 1);
    let end = GoalEnd { ok: true, result: "late".into(), source: None };
    let ended = tools.goals.ended("ann", id, &end).await.unwrap();
    assert_eq!(ended.status, GoalStatus::Cancelled);
    let again = call(&tools, &ctx("ann", None), "goals", close).await.unwrap_err();
    assert!(again.message.contains("cancelled already"), "{}", again.message);
    for (args, part) in [
        (json!({"goal": " "}), "1 to 4000 characters"),
        (json!({"goal": "x".repeat(4_001)}), "1 to 4000 characters"),
        (json!({"goal": "it is hunter2"}), "contains a secret"),
    ] {
        let error = call(&tools, &ctx("ann", None), "goal_pursuit", args).await.unwrap_err();
        assert!(error.message.contains(part), "{}", error.message);
    }
    let unknown = json!({"action": "inspect", "goal_id": "goal_none"});
    let error = call(&tools, &ctx("bob", None), "goals", unknown).await.unwrap_err();
    assert!(error.message.contains("There is no goal"), "{}", error.message);
}
