//! The person of the load: what is answered to a question, and where, is in the arguments of the
//! call.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch::Sender;
use toolcrib_core::{
    ApprovalRequest, Approver, ApproverReply, BoxFuture, Decision, DecisionRecord, GrantScope,
};

/// Who decides.
const PERSON: &str = "ann";

/// How a question is answered.
pub(crate) const DECISION_PATHS: [&str; 5] = ["here", "elsewhere", "later", "left", "left"];
/// What is decided.
pub(crate) const DECISIONS: [&str; 6] = ["approve", "approve", "always", "deny", "edit", "skip"];

/// Leaves questions unanswered, or to another process.
pub(crate) struct ScriptedApprover {
    /// Another decider, which decides through the pipeline.
    pub(crate) elsewhere: UnboundedSender<ApprovalRequest>,
    /// Questions that lie there, or whose calls go on there.
    pub(crate) open: Sender<usize>,
}

impl ScriptedApprover {
    fn hand_over(&self, request: &ApprovalRequest) {
        self.open.send_modify(|open| *open += 1);
        let _ = self.elsewhere.send(request.clone());
    }
}

impl Approver for ScriptedApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(async move {
            match word(&request.args, "asks") {
                "here" => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    ApproverReply::Decided {
                        decision: decision(&request.args),
                        by: PERSON.to_owned(),
                    }
                }
                "elsewhere" => {
                    self.hand_over(request);
                    std::future::pending().await
                }
                "later" => {
                    self.hand_over(request);
                    ApproverReply::Deferred
                }
                _ => ApproverReply::Deferred,
            }
        })
    }
}

/// The word of the arguments under this name.
pub(crate) fn word<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether two decide at once about a call with these arguments.
pub(crate) fn races(args: &Value) -> bool {
    args.get("races").and_then(Value::as_bool).unwrap_or_default()
}

/// The contrary decision of a second person, with the word for it.
pub(crate) fn contrary(args: &Value) -> (&'static str, DecisionRecord) {
    let (word, decision) = match decision(args) {
        Decision::Deny { .. } | Decision::Skip => ("approve", Decision::approve()),
        _ => ("deny", Decision::Deny { note: None }),
    };
    (word, DecisionRecord { decision, decided_by: "bob".to_owned(), decided_at: 0 })
}

/// What the arguments ask to be decided.
pub(crate) fn decision(args: &Value) -> Decision {
    match word(args, "decision") {
        "always" => Decision::Approve {
            scope: GrantScope::Always,
            only: BTreeMap::from([("note".to_owned(), word(args, "note").to_owned())]),
            taint: false,
        },
        "deny" => Decision::Deny { note: None },
        "skip" => Decision::Skip,
        "edit" => {
            let mut args = args.clone();
            args["note"] = json!(format!("{} edited", word(&args, "note")));
            Decision::Edit { args }
        }
        _ => Decision::approve(),
    }
}

/// The same with who decided.
pub(crate) fn record(args: &Value) -> DecisionRecord {
    DecisionRecord { decision: decision(args), decided_by: PERSON.to_owned(), decided_at: 0 }
}
