//! Changes: switches, undo and redo, notifications, decisions, MCP servers.

use serde_json::{Value, json};

use super::surfaces::{Surfaces, differences};
use crate::support::{self, TestEnv};

#[test]
fn switches_are_set_and_reset_alike() {
    let on = Surfaces::start(TestEnv::new());
    let stripped = |mut row: Value| {
        for member in ["by", "at"] {
            row[member] = json!(row[member].is_null());
        }
        row
    };
    let path = "/switches/tool:read_file";
    let own = ["switch", "enabled", "changed"];
    let of_command = stripped(on.command(&["tool", "disable", "read_file"]));
    let of_route = stripped(on.ok("PUT", path, Some(&json!({"state": "off"}))));
    assert_eq!(differences(&of_command, &of_route, &own, ""), Vec::<String>::new());
    let of_command = stripped(on.command(&["tool", "reset", "read_file"]));
    let of_route = stripped(on.ok("DELETE", path, None));
    assert_eq!(differences(&of_command, &of_route, &own, ""), Vec::<String>::new());
    let (status, problem) =
        on.send("PUT", "/switches/group:no_such_group", Some(&json!({"state": "off"})));
    let said = on.env.run(&["tool", "disable", "--group", "no_such_group"]).code(4);
    assert_eq!(status, 404, "{problem}");
    assert!(said.stderr.contains("there is no switch group:no_such_group"), "{said:?}");
}

/// `undo` chose and checked changes by itself, and a newer change was only noticed over REST.
#[test]
fn changes_are_undone_and_redone_alike() {
    let on = Surfaces::start(TestEnv::new());
    let write = |text: &str| {
        let content = format!("content={text}");
        on.env.run(&["tool", "call", "write_file", "path=a.txt", &content]).code(0);
    };
    write("one");
    write("two");
    let newest = || on.ok("GET", "/changes", None)["items"][0]["id"].clone();
    let body = json!({"direction": "undo", "changes": [newest()]});
    let preview = ("POST", "/changes/preview", Some(body));
    on.agree(&["undo", "--dry-run"], preview, &["changes"]);
    // Each surface undoes one of two equal changes; what differs is the change itself.
    let shape = |mut reply: Value| {
        for list in ["undone", "redone"] {
            for done in reply[list].as_array_mut().into_iter().flatten() {
                done["change"] =
                    json!(done["change"].as_object().unwrap().keys().collect::<Vec<_>>());
            }
        }
        reply.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        reply
    };
    let of_route = on.ok("POST", "/changes/undo", Some(&json!({"newest": newest()})));
    let undone = of_route["undone"][0]["change"]["id"].clone();
    let redone = on.ok("POST", "/changes/redo", Some(&json!({"changes": [undone]})));
    let of_command = on.command(&["undo"]);
    assert_eq!(shape(of_command), shape(of_route));
    assert_eq!(shape(on.command(&["redo"])), shape(redone));
    assert_eq!(on.env.read("a.txt").as_deref(), Some("two"));
    std::fs::write(on.env.root().join("a.txt"), "by hand").unwrap();
    let ended = on.env.run(&["undo", "--json"]).code(1);
    let body = json!({"newest": newest()});
    let (status, problem) = on.send("POST", "/changes/undo", Some(&body));
    assert_eq!(status, 409, "{problem}");
    assert_eq!(support::json(&ended.stdout), problem["about"]);
}

#[test]
fn notifications_are_sent_and_dismissed_alike() {
    let on = Surfaces::start(TestEnv::new());
    let stripped = |mut reply: Value| {
        for member in ["notification", "by", "created_at", "dismissed_at"] {
            reply[member] = json!(reply[member].is_null());
        }
        reply
    };
    let of_command = on.command(&["notification", "send", "hello", "--title", "Tent"]);
    let body = json!({"message": "hello", "title": "Tent"});
    let of_route = on.ok("POST", "/notifications", Some(&body));
    assert_eq!(stripped(of_command.clone()), stripped(of_route.clone()));
    let id = |reply: &Value| reply["notification"].as_str().unwrap().to_owned();
    let of_command = on.command(&["notification", "dismiss", &id(&of_command)])[0].clone();
    let path = format!("/notifications/{}/dismiss", id(&of_route));
    let of_route = on.ok("POST", &path, None);
    assert_eq!(stripped(of_command), stripped(of_route));
    assert_eq!(on.ok("GET", "/notifications?open=true", None)["items"], json!([]));
}

/// `approve --json` had other members than the route, and an approval to be remembered was judged
/// twice.
#[test]
fn decisions_and_their_previews_agree() {
    let on = Surfaces::start(TestEnv::new());
    let asks = |path: &str| {
        on.env.run(&["tool", "call", "delete_file", &format!("path={path}"), "--on-ask", "fail"]);
    };
    on.env.write("a.txt", "a");
    asks("notes.md");
    asks("a.txt");
    let waiting = on.ok("GET", "/approvals", None)["items"].clone();
    let of = |at: usize, member: &str| waiting[at][member].as_str().unwrap().to_owned();
    let (first, second) = (of(0, "approval"), of(1, "approval"));
    for (args, body) in [
        (&[][..], json!({"scope": "always"})),
        (&["--only", "path=*.md"], json!({"scope": "always", "only": {"path": "*.md"}})),
    ] {
        let command = [&["approve", "always", &first, "--dry-run"], args].concat();
        let path = format!("/approvals/{first}/preview");
        let differences = differences(
            &on.command(&command),
            &on.ok("POST", &path, Some(&body)),
            &["grant", "matches", "past_calls"],
            "",
        );
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
    for (args, body) in [
        (["--only", "path=src/*"], json!({"scope": "always", "only": {"path": "src/*"}})),
        (["--scope", "run"], json!({"scope": "run"})),
    ] {
        let command = [&["approve", "always", &first, "--dry-run"], &args[..]].concat();
        let said = on.env.run(&command).code(2);
        let (status, problem) =
            on.send("POST", &format!("/approvals/{first}/preview"), Some(&body));
        assert_eq!(status, 422, "{problem}");
        assert!(said.stderr.contains(problem["detail"].as_str().unwrap()), "{said:?} {problem}");
    }
    let shape = |mut reply: Value| {
        for member in ["approval", "call", "run"] {
            reply[member] = json!(reply[member].is_string());
        }
        for member in ["decided_by", "decided_at"] {
            reply["decision"][member] = json!(reply["decision"][member].is_null());
        }
        reply
    };
    let of_command = on.command(&["approve", "no", &first, "--note", "not now"]);
    let nonce = on.ok("GET", &format!("/approvals/{second}"), None)["nonce"].clone();
    let body = json!({"decision": "deny", "note": "not now", "nonce": nonce});
    let of_route = on.ok("POST", &format!("/approvals/{second}"), Some(&body));
    let differences = differences(&shape(of_command), &shape(of_route), &["decided", "next"], "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // The first decision stands, on both surfaces.
    let (status, problem) = on.send("POST", &format!("/approvals/{second}"), Some(&body));
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{problem}");
    on.env.run(&["approve", "no", &second]).code(5);
}

/// Each surface changed the file of servers in its own way.
#[test]
fn servers_are_changed_and_imported_alike() {
    let on = Surfaces::start(TestEnv::new());
    on.env.run(&["mcp", "add", "one", "--", "/bin/cat"]).code(0);
    on.env.run(&["mcp", "add", "two", "--", "/bin/cat"]).code(0);
    on.env.run(&["daemon", "reload"]).code(0);
    on.env.run(&["mcp", "set", "one", "--trusted", "true", "--network", "true"]).code(0);
    on.ok("PUT", "/mcp/servers/two", Some(&json!({"trusted": true, "network": true})));
    let shown = |name: &str| {
        let mut shown = on.command(&["mcp", "show", name]);
        shown["name"] = json!(null);
        shown
    };
    assert_eq!(shown("one"), shown("two"));
    assert_eq!(shown("one")["trusted"], true);
    let text = json!({"mcpServers": {
        "one": {"command": "/bin/cat"},
        "three": {"command": "/bin/cat", "env": {"API_KEY": "sk-very-secret-123456"}},
    }});
    on.env.write("theirs.json", text.to_string());
    let of_command = on.command(&["mcp", "import", "theirs.json"]);
    let body = json!({"text": text.to_string()});
    assert_eq!(of_command, on.ok("POST", "/mcp/import", Some(&body))["servers"]);
    let (status, problem) = on.send("DELETE", "/mcp/servers/none", None);
    assert_eq!((status, on.env.run(&["mcp", "rm", "none"]).code), (404, 4), "{problem}");
    on.send("DELETE", "/mcp/servers/two", None);
    on.env.run(&["mcp", "rm", "one"]).code(0);
    assert_eq!(on.command(&["mcp", "list"]), json!([]));
}
