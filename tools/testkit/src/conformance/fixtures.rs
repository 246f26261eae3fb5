//! Rows to store.

use serde_json::{Value, json};
use toolcrib_core::spec::Reach;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    ApprovalId, ApprovalReason, ApprovalRequest, Batch, Call, CallId, Context, Conversation,
    ConversationId, Decision, DecisionRecord, Effect, Origin, ReasonKind, Risk, RunId, RunStatus,
    StoredMessage, StoredRun, ToolName,
};

/// A conversation of this owner with a fresh id, made and changed at 1000.
#[must_use]
pub fn conversation(owner: &str) -> Conversation {
    Conversation {
        id: ConversationId::fresh(),
        owner: owner.into(),
        title: String::new(),
        agent: "general".into(),
        workspace: "/srv/project".into(),
        created_at: 1_000,
        updated_at: 1_000,
    }
}

/// A message at this place, written at 1000.
#[must_use]
pub fn message(seq: u64, body: Value) -> StoredMessage {
    StoredMessage { seq, run: None, body, created_at: 1_000 }
}

/// A run of this conversation with a fresh id, running under epoch 1, made and changed at 1000.
#[must_use]
pub fn run(conversation: &Conversation) -> StoredRun {
    let context = Context {
        owner: conversation.owner.clone(),
        conversation: conversation.id.to_string(),
        channel: "chat".into(),
        ..Context::default()
    };
    StoredRun {
        id: RunId::fresh(),
        conversation: conversation.id,
        context,
        status: RunStatus::Running,
        state: json!({"round": 1}),
        epoch: 1,
        created_at: 1_000,
        updated_at: 1_000,
    }
}

/// A question with fresh ids, asked at 1000.
///
/// # Panics
/// Never: its tool's name is a good one.
#[must_use]
pub fn question() -> PendingApproval {
    let args = json!({"path": "notes/\u{e9}.txt", "b": 1.5, "a": [null, true], "nul": "\u{0}"});
    let call = Call::new("delete_file", args.clone());
    let run = Some(RunId::fresh());
    let request = ApprovalRequest {
        question: None,
        id: ApprovalId::fresh(),
        call: CallId::fresh(),
        run,
        tool: ToolName::local("delete_file").unwrap(),
        operation: "delete_file".into(),
        binding: ApprovalRequest::compute_binding("d1", &args, run),
        args,
        risk: Risk::High,
        effect: Effect::Destructive,
        reach: Reach { private_read: true, ..Reach::default() },
        summary: "delete notes".into(),
        reasons: vec![ApprovalReason {
            kind: ReasonKind::Risk,
            text: "high risk".into(),
            rule: None,
        }],
        origin: Origin::Model,
        context: Context { owner: "ann".into(), ..Context::default() },
        definition_hash: "d1".into(),
        requested_at: 1_000,
        expires_at: Some(9_000),
    };
    let batch = Batch { run, ..Batch::new(Origin::Model, vec![call]) };
    PendingApproval { request, batch, setup: serde_json::json!({"roots": ["/w"]}) }
}

pub(super) fn decided(decision: Decision, by: &str) -> DecisionRecord {
    DecisionRecord { decision, decided_by: by.into(), decided_at: 2_000 }
}
