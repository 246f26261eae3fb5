//! Any sequence of operations gives the answers that the plain model gives.

use std::fmt::Debug;

use serde_json::json;
use toolcrib_core::grant::GrantQuery;
use toolcrib_core::{
    ApprovalStore, Context, Conversation, ConversationAndRunStore, ConversationId, Decision, Grant,
    GrantScope, GrantStore, KeyValueStore, ReasonKind, Risk, RunId, RunStatus, StoreError,
    StoredMessage, StoredRun,
};

use super::fixtures::{conversation, decided, message, question, run};
use super::reference_model::{Model, Refused};

/// The stores of one backend.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// Conversations and runs.
    pub runs: &'a dyn ConversationAndRunStore,
    /// Questions.
    pub approvals: &'a dyn ApprovalStore,
    /// Grants.
    pub grants: &'a dyn GrantStore,
    /// Facts.
    pub facts: &'a dyn KeyValueStore,
}

/// Reads operations from bytes, four each, and does them in the stores, which are empty at first,
/// and in a plain model. Few ids are used often, so that operations meet.
///
/// # Panics
/// When an answer is not the model's.
pub async fn random_operations(stores: Stores<'_>, bytes: &[u8]) {
    let mut both = StoreAndModel { stores, model: Model::default() };
    for step in bytes.as_chunks::<4>().0 {
        both.step(*step).await;
    }
    both.compare_everything().await;
}

struct StoreAndModel<'a> {
    stores: Stores<'a>,
    model: Model,
}

fn same<T: PartialEq + Debug>(answer: Result<T, StoreError>, expected: Result<T, Refused>) {
    let answer = answer.map_err(|error| match error {
        StoreError::Conflict(_) => Refused::Conflict,
        StoreError::Missing(_) => Refused::Missing,
        StoreError::Fenced { current, claimed } => Refused::Fenced { current, claimed },
        error => panic!("{error}"),
    });
    assert_eq!(answer, expected);
}

fn id<T: std::str::FromStr<Err: Debug>>(prefix: &str, number: u8) -> T {
    format!("{prefix}_{:032x}", number % 3).parse().unwrap()
}

fn owner(number: u8) -> String {
    ["ann", "ben\u{0}"][usize::from(number % 2)].into()
}

fn status(number: u8) -> RunStatus {
    [RunStatus::Running, RunStatus::Paused, RunStatus::Ended][usize::from(number % 3)]
}

fn random_conversation(a: u8, b: u8, c: u8) -> Conversation {
    Conversation {
        id: id("conv", a),
        title: c.to_string(),
        created_at: i64::from(c),
        updated_at: i64::from(b),
        // Mostly one owner per id, so that not everything is refused.
        ..conversation(&owner(if b == 0 { a + 1 } else { a }))
    }
}

fn messages(b: u8, c: u8) -> Vec<StoredMessage> {
    let first = u64::from(c % 8);
    let places = first..first + u64::from(b % 4);
    places
        .map(|seq| StoredMessage { created_at: i64::from(b), ..message(seq, json!([b, c])) })
        .collect()
}

fn run_of(a: u8, b: u8, c: u8) -> StoredRun {
    let context = Context { owner: owner(if c == 0 { a + 1 } else { a }), ..Context::default() };
    StoredRun {
        id: id("run", a),
        conversation: id("conv", b),
        status: status(c),
        epoch: u64::from(c % 5),
        created_at: i64::from(b),
        state: json!({"c": c}),
        context,
        ..run(&conversation(""))
    }
}

fn grant(a: u8, b: u8, c: u8) -> Grant {
    Grant {
        args: std::collections::BTreeMap::new(),
        id: id("grant", a),
        owner: owner(b),
        operation: "op".into(),
        definition_hash: "d".into(),
        reasons: vec![ReasonKind::Risk],
        risk: if c.is_multiple_of(2) { Risk::High } else { Risk::Safe },
        scope: if c.is_multiple_of(3) { GrantScope::Once } else { GrantScope::Always },
        run: None,
        conversation: None,
        created_by: "ann".into(),
        created_at: 0,
        expires_at: (c > 100).then_some(i64::from(c)),
    }
}

impl StoreAndModel<'_> {
    async fn step(&mut self, [operation, a, b, c]: [u8; 4]) {
        let a = a % 8;
        match operation % 10 {
            0 => {
                let new = random_conversation(a, b, c);
                let answer = self.stores.runs.put_conversation(new.clone()).await;
                same(answer, self.model.put_conversation(new));
            }
            1 => {
                let talk: ConversationId = id("conv", a);
                let answer = self.stores.runs.put_messages(talk, messages(b, c)).await;
                same(answer, self.model.put_messages(talk, messages(b, c)));
            }
            2 => {
                let new = run_of(a, b, c);
                let answer = self.stores.runs.put_run(new.clone()).await;
                same(answer, self.model.put_run(new));
            }
            3 => {
                let answer = self.stores.runs.claim_run(id("run", a), u64::from(b % 5)).await;
                same(answer, self.model.take_run(id("run", a), u64::from(b % 5)));
            }
            4 => {
                let new = run_of(a, b, c);
                self.stores.runs.checkpoint(new.clone(), messages(c, b));
                let answer = self.stores.runs.flush(new.id).await;
                same(answer, self.model.checkpoint(new, messages(c, b)));
            }
            5 => self.ask_or_decide(a, b).await,
            6 => {
                let answer = self.stores.grants.add(grant(a, b, c)).await;
                same(answer, self.model.add(grant(a, b, c)));
            }
            7 => self.revoke_or_find(a, b, c).await,
            8 => {
                let (name, value) = (a.to_string(), b.to_string());
                self.stores.facts.put_value(&name, &value).await.unwrap();
                self.model.put_fact(&name, &value);
            }
            _ => self.compare_everything().await,
        }
    }

    async fn ask_or_decide(&mut self, a: u8, b: u8) {
        if b.is_multiple_of(2) {
            let mut waiting = question();
            waiting.request.id = id("appr", a);
            let answer = self.stores.approvals.ask(waiting.clone()).await;
            same(answer, self.model.ask(waiting));
            return;
        }
        let record = decided(Decision::Deny { note: Some(b.to_string()) }, "ann");
        let answer = self.stores.approvals.decide(id("appr", a), record.clone()).await;
        let asked = self.model.questions.iter_mut().find(|(w, _)| w.request.id == id("appr", a));
        let expected = match asked {
            None => Err(Refused::Missing),
            Some((_, Some(first))) => Ok(Err(first.clone())),
            Some((_, slot)) => {
                *slot = Some(record);
                Ok(Ok(()))
            }
        };
        same(answer, expected);
    }

    async fn revoke_or_find(&mut self, a: u8, b: u8, c: u8) {
        if c < 64 {
            let before = self.model.grants.len();
            self.model.grants.retain(|grant| grant.id != id("grant", a));
            let expected = self.model.grants.len() < before;
            same(self.stores.grants.revoke(id("grant", a), "ann", 3).await, Ok(expected));
            return;
        }
        let owner = owner(b);
        let query = GrantQuery {
            args: &serde_json::Value::Null,
            owner: &owner,
            operation: "op",
            definition_hash: "d",
            risk: Risk::High,
            run: None,
            conversation: "",
            now_ms: i64::from(c),
        };
        let answer = self.stores.grants.find(query, ReasonKind::Risk).await;
        let expected = self.model.grants.iter().find(|g| g.covers(&query, ReasonKind::Risk));
        same(answer, Ok(expected.cloned()));
    }

    async fn compare_everything(&self) {
        for number in 0..3 {
            self.compare_talk(id("conv", number)).await;
            let run: RunId = id("run", number);
            let expected = self.model.runs.iter().find(|r| r.id == run).cloned();
            same(self.stores.runs.run(run).await, Ok(expected));
            let (question, expected) = (
                self.stores.approvals.get(id("appr", number)).await.unwrap(),
                self.model.questions.iter().find(|(w, _)| w.request.id == id("appr", number)),
            );
            assert_eq!(
                question.map(|(waiting, decision)| (waiting.request, decision)),
                expected.map(|(waiting, decision)| (waiting.request.clone(), decision.clone()))
            );
            self.compare_lists(&owner(number), status(number), usize::from(number)).await;
        }
        let pending = self.model.questions.iter().filter(|(_, decision)| decision.is_none());
        let pending: Vec<_> = pending.map(|(waiting, _)| waiting.request.clone()).collect();
        same(self.stores.approvals.pending().await, Ok(pending));
        for (name, value) in &self.model.facts {
            same(self.stores.facts.value(name).await, Ok(Some(value.clone())));
        }
    }

    async fn compare_talk(&self, talk: ConversationId) {
        let expected = self.model.conversations.iter().find(|c| c.id == talk).cloned();
        same(self.stores.runs.conversation(talk).await, Ok(expected));
        let mut expected: Vec<StoredMessage> = Vec::new();
        expected.extend(
            self.model
                .messages
                .iter()
                .filter(|(c, m)| *c == talk && m.seq > 0)
                .map(|(_, m)| m.clone()),
        );
        same(self.stores.runs.messages(talk, 1).await, Ok(expected));
    }

    async fn compare_lists(&self, owner: &str, status: RunStatus, limit: usize) {
        let mut talks: Vec<_> =
            self.model.conversations.iter().filter(|c| c.owner == owner).cloned().collect();
        talks.sort_by_key(|c| std::cmp::Reverse((c.updated_at, c.id)));
        talks.truncate(limit);
        same(self.stores.runs.conversations(owner, limit).await, Ok(talks));
        let mut runs: Vec<_> =
            self.model.runs.iter().filter(|r| r.context.owner == owner).cloned().collect();
        runs.sort_by_key(|r| std::cmp::Reverse((r.created_at, r.id)));
        same(self.stores.runs.runs(owner, None, 9).await, Ok(runs.clone()));
        runs.retain(|run| run.status == status);
        same(self.stores.runs.runs(owner, Some(status), 9).await, Ok(runs));
        let grants: Vec<_> =
            self.model.grants.iter().filter(|g| g.owner == owner).cloned().collect();
        same(self.stores.grants.list(owner).await, Ok(grants));
    }
}
