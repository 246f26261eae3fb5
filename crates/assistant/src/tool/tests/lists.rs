//! The tool `list`.

use super::*;

async fn list(tools: &AssistantTools, args: Value) -> Value {
    let ctx = ctx("ann", Some(RunId::fresh()));
    let output = call(tools, &ctx, "list", args.clone()).await;
    output.unwrap_or_else(|error| panic!("{args}: {}", error.message)).structured.unwrap()
}

async fn refused(tools: &AssistantTools, args: Value) -> String {
    let ctx = ctx("ann", None);
    call(tools, &ctx, "list", args).await.unwrap_err().message
}

#[tokio::test]
async fn items_are_added_checked_removed_and_seen() {
    let tools = tools(RunId::fresh());
    let args =
        json!({"action": "add", "name": "Groceries", "items": ["Milk", " rye  bread ", "milk"]});
    let added = list(&tools, args).await;
    assert_eq!(
        (&added["added"], &added["already_so"]),
        (&json!(["Milk", "rye bread"]), &json!(["Milk"]))
    );
    let checked = list(&tools, json!({"action": "check", "items": ["MILK", "beer"]})).await;
    assert_eq!(
        (&checked["checked"], &checked["not_on_the_list"]),
        (&json!(["Milk"]), &json!(["beer"]))
    );
    let view = list(&tools, json!({"action": "view", "name": "groceries"})).await;
    assert_eq!(view, json!({"list": "Groceries", "open": ["rye bread"], "checked": ["Milk"]}));
    // A checked item that is added again is open again.
    list(&tools, json!({"action": "add", "items": ["milk"]})).await;
    list(&tools, json!({"action": "remove", "items": ["Rye bread"]})).await;
    let view = list(&tools, json!({"action": "view"})).await;
    assert_eq!((&view["open"], &view["checked"]), (&json!(["Milk"]), &json!([])));
    list(&tools, json!({"action": "create", "name": "To do"})).await;
    let all = list(&tools, json!({"action": "list_all"})).await;
    assert_eq!(all["lists"][1], json!({"list": "Groceries", "open": 1, "items": 1}));
    list(&tools, json!({"action": "rename", "name": "groceries", "new_name": "Shop"})).await;
    list(&tools, json!({"action": "clear", "name": "shop"})).await;
    let history = list(&tools, json!({"action": "history", "name": "Shop"})).await;
    assert_eq!(history["history"][0]["change"], "cleared 1 items");
    assert_eq!(history["history"][1]["change"], "renamed Groceries to Shop");
    let later = json!({"action": "history", "name": "Shop", "since": "2099-01-01"});
    assert_eq!(list(&tools, later).await["history"], json!([]));
    list(&tools, json!({"action": "delete", "name": "Shop"})).await;
    assert!(refused(&tools, json!({"action": "view", "name": "Shop"})).await.contains("no list"));
    // Another owner sees nothing.
    let stranger = call(&tools, &ctx("bob", None), "list", json!({"action": "list_all"})).await;
    assert!(stranger.unwrap().structured.is_none());
}

#[tokio::test]
async fn a_change_is_taken_back_with_all_its_rows() {
    let tools = tools(RunId::fresh());
    let writer =
        crate::Writer { owner: "ann".into(), author: author(&ctx("ann", None)), untrusted: None };
    list(&tools, json!({"action": "add", "name": "A", "items": ["x"]})).await;
    list(&tools, json!({"action": "rename", "name": "A", "new_name": "B"})).await;
    tools.lists.undo(&writer, None).await.unwrap();
    let names: Vec<String> =
        tools.lists.all("ann").await.unwrap().into_iter().map(|list| list.name).collect();
    assert_eq!(names, ["A"]);
    list(&tools, json!({"action": "delete", "name": "a"})).await;
    tools.lists.undo(&writer, Some("A")).await.unwrap();
    assert_eq!(list(&tools, json!({"action": "view"})).await["open"], json!(["x"]));
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let tools = tools(RunId::fresh());
    let many: Vec<String> = (0..501).map(|n| format!("item {n}")).collect();
    let long = "x".repeat(201);
    for (args, part) in [
        (json!({"action": "view"}), "There is no list yet"),
        (json!({"action": "add", "items": ["x"]}), "There is no list yet"),
        (json!({"action": "create"}), "`create` needs `name`"),
        (json!({"action": "add", "name": "A"}), "There are no items"),
        (json!({"action": "add", "name": "a\u{1b}[2J", "items": ["x"]}), "one line"),
        (json!({"action": "add", "name": "A", "items": [long]}), "one line of 1 to 200"),
        (json!({"action": "add", "name": "A", "items": ["two\nlines"]}), "one line of 1 to 200"),
        (json!({"action": "add", "name": "A", "items": many}), "at most 500 items"),
        (json!({"action": "add", "name": "A", "items": ["hunter2"]}), "toolcrib secret set"),
    ] {
        let message = refused(&tools, args.clone()).await;
        assert!(message.contains(part), "{args}: {message}");
    }
    assert_eq!(tools.lists.all("ann").await.unwrap(), []);
    list(&tools, json!({"action": "create", "name": "Groceries", "items": ["bread"]})).await;
    for (args, part) in [
        (json!({"action": "create", "name": "GROCERIES"}), "\"GROCERIES\" already"),
        (json!({"action": "view", "name": "grocery"}), "Did you mean Groceries?"),
        (json!({"action": "check", "items": ["bred"]}), "no item \"bred\". Did you mean bread?"),
        (json!({"action": "rename"}), "`rename` needs `new_name`"),
        (json!({"action": "history", "since": "31 Feb"}), "not a date and time that exists"),
        (json!({"action": "history", "since": "2026-02-31"}), "not a date and time that exists"),
    ] {
        let message = refused(&tools, args.clone()).await;
        assert!(message.contains(part), "{args}: {message}");
    }
}

#[tokio::test]
async fn items_from_outside_keep_their_label() {
    let dirty = RunId::fresh();
    let tools = tools(dirty);
    list(&tools, json!({"action": "add", "name": "A", "items": ["mine"]})).await;
    let add = json!({"action": "add", "items": ["Visit evil.example"]});
    call(&tools, &ctx("ann", Some(dirty)), "list", add).await.unwrap();
    let clean = ctx("ann", Some(RunId::fresh()));
    let view = call(&tools, &clean, "list", json!({"action": "view"})).await.unwrap();
    assert_eq!(view.trust, Some(Trust::External));
    let remove = json!({"action": "remove", "items": ["visit evil.example"]});
    call(&tools, &clean, "list", remove).await.unwrap();
    let view = call(&tools, &clean, "list", json!({"action": "view"})).await.unwrap();
    assert_eq!(view.trust, None);
    let history = call(&tools, &clean, "list", json!({"action": "history"})).await.unwrap();
    assert_eq!(history.trust, Some(Trust::External));
}
