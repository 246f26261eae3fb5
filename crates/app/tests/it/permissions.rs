//! The permission table: the permissions that tools declare, and their refusal.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use toolcrib_app::{ExecRequest, PermissionChoice, PermissionTable, Settings, Toolcrib};
use toolcrib_core::{
    Answer, Batch, Call, Context, ErrorType, Invoker as _, Origin, Permission, RunLimits,
    ViewRequest,
};

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    fn root(&self) -> std::path::PathBuf {
        // Without links, as the roots have it.
        self.folder.path().canonicalize().unwrap().join("work")
    }

    async fn open(&self, permissions: PermissionTable) -> Toolcrib {
        let settings = Settings::new(self.root(), self.folder.path().join("state"));
        let settings = Settings { permissions, ..settings };
        Toolcrib::builder(settings).for_agents().build().await.unwrap()
    }
}

fn error_of(answer: &Answer) -> Option<ErrorType> {
    answer.outcome().unwrap().error_type()
}

#[tokio::test]
async fn every_tool_declares_what_it_needs() {
    use Permission::{FsRead, FsWrite, Network};
    let toolcrib = World::new().open(PermissionTable::default()).await;
    for info in toolcrib.infos() {
        let spec = toolcrib.spec(info.id.as_str()).unwrap();
        let expected = match spec.name.as_str() {
            "read_file" | "list_dir" | "file_info" | "find_files" | "code_search" => vec![FsRead],
            "write_file" | "edit_file" | "diff_editor" | "make_dir" | "copy_path" | "move_path"
            | "delete_file" => {
                vec![FsRead, FsWrite]
            }
            "http_request"
            | "fetch_url"
            | "web_search"
            | "docs_search"
            | "news"
            | "get_weather"
            | "get_location_from_ip"
            | "open_url"
            | "setup_email"
            | "check_email"
            | "read_email"
            | "search_email"
            | "compose_email"
            | "reply_email"
            | "unsubscribe_email"
            | "draft_message"
            | "check_sms"
            | "read_sms"
            | "search_sms"
            | "send_sms"
            | "reply_sms" => vec![Network],
            _ => Vec::new(),
        };
        assert_eq!(spec.permissions, expected, "{}", spec.name);
        // The effect of a tool matches the permissions that it requires; a provider's own tools run
        // elsewhere. `read` requires the permission of its source: the network for an address,
        // files for a path. Mail and SMS are read where the person configured them, and a draft is
        // sent by the person or their rule: the call itself sends nothing to others.
        let is_apart = spec.name.as_str() == "read"
            || info.source == "channels"
            || info.source == "sms"
            || info.source == "mail" && spec.name.as_str() != "setup_email";
        if info.source != "provider" && !is_apart {
            let has = |permission| spec.permissions.contains(&permission);
            assert_eq!(spec.reach.outbound, has(Network), "{}", spec.name);
            assert_eq!(spec.reach.exec, has(Permission::Exec), "{}", spec.name);
        }
    }
}

#[tokio::test]
async fn a_workspaces_permission_holds_for_calls_by_hand_and_for_a_models_response() {
    let world = World::new();
    let never = BTreeMap::from([(Permission::FsWrite, PermissionChoice::Never)]);
    let workspace = world.root().display().to_string();
    for (place, expected) in
        [(workspace, Some(ErrorType::PermissionDenied)), ("/elsewhere".to_owned(), None)]
    {
        let workspaces = BTreeMap::from([(place.clone(), never.clone())]);
        let table = PermissionTable { workspaces, ..PermissionTable::default() };
        let toolcrib = world.open(table).await;
        let args = json!({"path": "a.txt", "content": "x"});
        let by_hand = toolcrib.call("write_file", args.clone().into(), Origin::Cli).await.unwrap();
        assert_eq!(error_of(&by_hand), expected, "{place}");
        let once = toolcrib.call_with_key("write_file", args.clone().into(), Origin::Cli, &place);
        assert_eq!(error_of(&once.await.unwrap().unwrap()), expected, "{place}");
        let body = json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": args.to_string()}}
        ]}, "finish_reason": "tool_calls"}]});
        let body = body.to_string();
        let request = ExecRequest {
            body: body.as_bytes(),
            format: None,
            origin: Origin::Cli,
            context: Arc::default(),
            view: ViewRequest::default(),
            limits: RunLimits::default(),
            key: None,
        };
        let reply = toolcrib.exec(request).await.unwrap();
        assert_eq!(error_of(&reply.calls[0].answer), expected, "{place}");
    }
}

#[tokio::test]
async fn an_agents_permission_only_tightens() {
    let world = World::new();
    let of = |choice| BTreeMap::from([(Permission::FsWrite, choice)]);
    use PermissionChoice::{Denied, Granted};
    for (general, own, expected) in [
        (Granted, Denied, Some(ErrorType::PermissionDenied)),
        (Denied, Granted, Some(ErrorType::PermissionDenied)),
        (Granted, Granted, None),
    ] {
        let agents = BTreeMap::from([("ann".to_owned(), of(own))]);
        let table = PermissionTable { general: of(general), agents, ..PermissionTable::default() };
        let toolcrib = world.open(table).await;
        let call = Call::new("write_file", json!({"path": "a.txt", "content": "x"}));
        let context = Context { agent: "ann".into(), ..Context::default() };
        let batch = Batch::new(Origin::Model, vec![call]);
        let batch = Batch { context: Arc::new(context), ..batch };
        let answer = toolcrib.engine().invoke(batch).await.pop().unwrap();
        assert_eq!(error_of(&answer), expected, "{general:?} {own:?}");
    }
}
