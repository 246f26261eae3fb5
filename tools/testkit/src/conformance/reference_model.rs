//! The stores as plainly as they can be written: lists that are searched from the front. Real
//! stores are compared with it.

use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    Conversation, ConversationId, DecisionRecord, Grant, RunId, RunStatus, StoredMessage, StoredRun,
};

/// A refusal, without its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Conflict,
    Missing,
    Fenced { current: u64, claimed: u64 },
}

/// Everything that is stored.
#[derive(Default, Clone)]
pub(super) struct Model {
    pub(super) conversations: Vec<Conversation>,
    pub(super) messages: Vec<(ConversationId, StoredMessage)>,
    pub(super) runs: Vec<StoredRun>,
    pub(super) questions: Vec<(PendingApproval, Option<DecisionRecord>)>,
    pub(super) grants: Vec<Grant>,
    pub(super) facts: Vec<(String, String)>,
}

impl Model {
    pub(super) fn put_conversation(&mut self, new: Conversation) -> Result<(), Refused> {
        let Some(old) = self.conversations.iter_mut().find(|old| old.id == new.id) else {
            self.conversations.push(new);
            return Ok(());
        };
        if old.owner != new.owner {
            return Err(Refused::Conflict);
        }
        *old = Conversation { created_at: old.created_at, updated_at: old.updated_at, ..new };
        Ok(())
    }

    pub(super) fn put_messages(
        &mut self,
        id: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> Result<(), Refused> {
        let mut after = self.clone();
        let head = after.conversations.iter_mut().find(|c| c.id == id).ok_or(Refused::Missing)?;
        for new in messages {
            head.updated_at = head.updated_at.max(new.created_at);
            let length = after.messages.iter().filter(|(c, _)| *c == id).count() as u64;
            let mut there = after.messages.iter_mut().filter(|(c, _)| *c == id);
            match there.find(|(_, old)| old.seq == new.seq) {
                Some((_, old)) => old.body = new.body,
                None if new.seq == length => after.messages.push((id, new)),
                None => return Err(Refused::Conflict),
            }
        }
        *self = after;
        Ok(())
    }

    pub(super) fn put_run(&mut self, new: StoredRun) -> Result<(), Refused> {
        let old = self.runs.iter().position(|old| old.id == new.id);
        if let Some(old) = old.map(|at| &self.runs[at]) {
            if old.context.owner != new.context.owner {
                return Err(Refused::Conflict);
            }
            if old.epoch > new.epoch {
                return Err(Refused::Fenced { current: old.epoch, claimed: new.epoch });
            }
        }
        if !self.conversations.iter().any(|c| c.id == new.conversation) {
            return Err(Refused::Missing);
        }
        match old {
            Some(at) => self.runs[at] = new,
            None => self.runs.push(new),
        }
        Ok(())
    }

    pub(super) fn checkpoint(
        &mut self,
        run: StoredRun,
        messages: Vec<StoredMessage>,
    ) -> Result<(), Refused> {
        let mut after = self.clone();
        let conversation = run.conversation;
        after.put_run(run)?;
        after.put_messages(conversation, messages)?;
        *self = after;
        Ok(())
    }

    pub(super) fn take_run(&mut self, id: RunId, epoch: u64) -> Result<StoredRun, Refused> {
        let run = self.runs.iter_mut().find(|run| run.id == id).ok_or(Refused::Missing)?;
        if run.status == RunStatus::Ended || run.epoch != epoch {
            return Err(Refused::Conflict);
        }
        run.status = RunStatus::Running;
        run.epoch += 1;
        Ok(run.clone())
    }

    pub(super) fn ask(&mut self, waiting: PendingApproval) -> Result<(), Refused> {
        if self.questions.iter().any(|(old, _)| old.request.id == waiting.request.id) {
            return Err(Refused::Conflict);
        }
        self.questions.push((waiting, None));
        self.questions.sort_by_key(|(waiting, _)| waiting.request.id);
        Ok(())
    }

    pub(super) fn add(&mut self, grant: Grant) -> Result<(), Refused> {
        if self.grants.iter().any(|old| old.id == grant.id) {
            return Err(Refused::Conflict);
        }
        self.grants.push(grant);
        Ok(())
    }

    pub(super) fn put_fact(&mut self, name: &str, value: &str) {
        self.facts.retain(|(old, _)| old != name);
        self.facts.push((name.into(), value.into()));
    }
}
