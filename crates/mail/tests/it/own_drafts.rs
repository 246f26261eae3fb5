//! A model changes its own unsent draft; the person is told, and sees what changed.

use serde_json::json;
use toolcrib_assistant::draft::{DraftChange, DraftStatus};
use toolcrib_testkit::mail_servers::Dovecot;

use crate::dovecot::{send, structured, tools_of, writer};
use crate::fixture::call;

#[tokio::test]
async fn a_model_changes_its_own_draft_until_a_person_has() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
    let args = |body: &str, id: Option<&str>| json!({"to": "bob@example.net", "subject": "Late", "body": body, "draft_id": id});
    let made = structured(&tools, "compose_email", args("Ten minutes.\nAnn", None)).await;
    let id = made["draft_id"].as_str().unwrap().to_owned();
    let told = tools.notifier.list("").await.unwrap();
    assert_eq!((told.len(), told[0].title.as_str()), (1, "Draft: Late"));
    assert!(told[0].message.contains("To bob@example.net."), "{}", told[0].message);
    let seen = tools.drafts.get("", &id).await.unwrap();
    let again = structured(&tools, "compose_email", args("Twenty minutes.\nAnn", Some(&id))).await;
    assert_eq!(again["draft_id"], json!(id));
    assert_eq!(tools.drafts.list("").await.unwrap().len(), 1);
    assert_eq!(tools.notifier.list("").await.unwrap().len(), 1, "one notification of one draft");
    // What the person saw does not leave, and they see what is different.
    assert!(tools.drafts.send(&writer(), send(&id, seen.version)).await.is_err());
    let changed = tools.drafts.changed_since("", &id, seen.version).await.unwrap();
    assert_eq!((changed.len(), changed[0].part), (1, "text"), "{changed:?}");
    assert_eq!(changed[0].diff, "-Ten minutes.\n+Twenty minutes.\n Ann");
    let history = tools.drafts.history("", &id).await.unwrap();
    let bodies: Vec<&str> = history.iter().map(|one| one.draft.body.as_str()).collect();
    assert_eq!(bodies, ["Twenty minutes.\nAnn", "Ten minutes.\nAnn"]);
    // Once a person has changed it, it is theirs.
    let change = DraftChange { body: Some("An hour.".to_owned()), ..DraftChange::default() };
    tools.drafts.edit(&writer(), &id, None, &change).await.unwrap();
    let refused = call(&tools, "compose_email", args("Never.", Some(&id))).await.unwrap_err();
    assert!(refused.message.contains("you cannot change it"), "{}", refused.message);
    let unknown = call(&tools, "compose_email", args("x", Some("draft_none"))).await.unwrap_err();
    assert!(unknown.message.contains("There is no draft"), "{}", unknown.message);
    let kept = tools.drafts.get("", &id).await.unwrap();
    assert_eq!((kept.body.as_str(), kept.status), ("An hour.", DraftStatus::Draft));
}
