//! Sending a draft exactly once.
//!
//! The draft is stored as `sending` under a claim of this process before a byte leaves. Whoever
//! reads it later asks the store whether the holder of the claim is alive; if it is not, nobody
//! knows whether the draft left, and it becomes `unknown`.

use std::time::Duration;

use toolcrib_core::{Author, BoxFuture, WorkerState};

use super::drafts::{ATTEMPTS, Drafts, refused};
use super::error::DraftError;
use super::kind::DraftKind;
use super::model::{Attempt, Draft, DraftStatus};
use crate::rows::{RowError, Writer};

/// Longest time of one delivery. Carriers have shorter limits of their own; this one ends those
/// that do not keep them.
const LONGEST: Duration = Duration::from_secs(300);

/// How a delivery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It was accepted; the text says what did not work besides.
    Sent(Option<String>),
    /// It was refused, and nothing left.
    Failed(String),
    /// It may have left.
    Unknown(String),
}

/// Delivers drafts of one kind.
pub trait Carrier: Send + Sync {
    /// The kind.
    fn kind(&self) -> DraftKind;

    /// Hands a draft over, once.
    fn deliver<'a>(&'a self, owner: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery>;
}

/// A draft to send.
#[derive(Debug, Clone)]
pub struct SendRequest {
    /// Its id.
    pub id: String,
    /// The version that the person read; `None` = whatever it is now.
    pub version: Option<i64>,
    /// Send one that is `unknown` once more, although it may have left.
    pub again: bool,
    /// The person or the rule.
    pub by: String,
}

impl Drafts {
    /// Sends a draft, and waits for its end. A caller that stops waiting does not stop it.
    ///
    /// # Errors
    /// [`DraftError`] if it may not be sent now; how a delivery ended is the draft's status.
    pub async fn send(&self, writer: &Writer, request: SendRequest) -> Result<Draft, DraftError> {
        let (drafts, writer) = (self.clone(), writer.clone());
        // A task of its own: dropping the request of a person must not cut the delivery off.
        let task = tokio::spawn(async move { drafts.claim_and_send(&writer, request).await });
        task.await.unwrap_or_else(|error| {
            Err(DraftError::State(format!("The delivery broke off: {error}. Look at the draft.")))
        })
    }

    async fn claim_and_send(
        &self,
        writer: &Writer,
        request: SendRequest,
    ) -> Result<Draft, DraftError> {
        let claim = self.claims.claim().await?;
        let sent = self.send_under(writer, &request, claim).await;
        // After the status is stored: a draft that is `sending` under a claim that has ended is
        // `unknown`.
        self.claims.release(claim).await?;
        let draft = sent?;
        self.get(&writer.owner, &draft.id).await
    }

    async fn send_under(
        &self,
        writer: &Writer,
        request: &SendRequest,
        claim: u64,
    ) -> Result<Draft, DraftError> {
        let attempt = Attempt { claim, by: request.by.clone(), at: self.rows.now() };
        let begin = |draft: Draft| {
            let may = draft.status.is_editable()
                || (request.again && draft.status == DraftStatus::Unknown);
            if !may {
                return Err(not_now(&draft));
            }
            let attempt = Some(attempt.clone());
            Ok(Draft { status: DraftStatus::Sending, attempt, note: None, ..draft })
        };
        let draft = self.change(writer, &request.id, request.version, "sending", begin).await?;
        let Some(carrier) = self.carriers.iter().find(|found| found.kind() == draft.kind) else {
            let none = format!("Nothing here sends drafts of the kind {}.", draft.kind.as_str());
            return self.record(writer, &draft.id, claim, Delivery::Failed(none)).await;
        };
        let delivered = tokio::time::timeout(LONGEST, carrier.deliver(&writer.owner, &draft)).await;
        let delivery = delivered.unwrap_or_else(|_| {
            Delivery::Unknown(format!("The server did not answer in {} s.", LONGEST.as_secs()))
        });
        self.record(writer, &draft.id, claim, delivery).await
    }

    /// Records how the delivery of this claim ended.
    async fn record(
        &self,
        writer: &Writer,
        id: &str,
        claim: u64,
        delivery: Delivery,
    ) -> Result<Draft, DraftError> {
        self.change(writer, id, None, "ended", |draft| {
            let is_ours = draft.attempt.as_ref().is_some_and(|attempt| attempt.claim == claim);
            if !is_ours {
                return Err(refused(&draft, "settled"));
            }
            let (status, note) = match delivery.clone() {
                Delivery::Sent(warning) => (DraftStatus::Sent, warning),
                Delivery::Failed(reason) => (DraftStatus::Failed, Some(reason)),
                Delivery::Unknown(reason) => {
                    (DraftStatus::Unknown, Some(how_to_find_out(&reason, &draft)))
                }
            };
            Ok(Draft { status, note, ..draft })
        })
        .await
    }

    /// The draft, made `unknown` if the process that sent it is gone.
    pub(super) async fn settled(&self, owner: &str, draft: Draft) -> Result<Draft, DraftError> {
        let mut draft = draft;
        for _ in 0..ATTEMPTS {
            let claim = match (&draft.status, &draft.attempt) {
                (DraftStatus::Sending, Some(attempt)) => attempt.claim,
                _ => return Ok(draft),
            };
            if matches!(self.claims.worker(claim).await?, WorkerState::Alive(_)) {
                return Ok(draft);
            }
            let note = how_to_find_out("The process that sent it ended before the answer.", &draft);
            let expected = draft.version;
            let gone = Draft {
                status: DraftStatus::Unknown,
                note: Some(note),
                changed_at: self.rows.now(),
                ..draft.clone()
            };
            let writer = recovery(owner);
            let is_written = self.put(&writer, "left behind", Some(expected), &gone).await?;
            let Some(row) = self.rows.get(owner, &draft.id).await? else { return Ok(gone) };
            draft = super::drafts::draft_of(row);
            if is_written {
                return Ok(draft);
            }
        }
        Err(RowError::Contended(draft.id).into())
    }
}

/// What finds out about drafts that were left behind.
fn recovery(owner: &str) -> Writer {
    Writer { owner: owner.to_owned(), author: Author::person("recovery"), untrusted: None }
}

fn not_now(draft: &Draft) -> DraftError {
    if draft.status == DraftStatus::Unknown {
        let note = draft.note.as_deref().unwrap_or_default();
        return DraftError::State(format!(
            "The draft {} may have left already. {note} Send it again only if it did not arrive, and say so.",
            draft.id
        ));
    }
    refused(draft, "sent")
}

/// The text of a draft that may have left.
fn how_to_find_out(reason: &str, draft: &Draft) -> String {
    match draft.kind {
        DraftKind::Mail => format!(
            "{reason} Search the Sent folder of {} and the recipient's answer for the Message-ID {}; a mail that is not in the Sent folder may have left too.",
            draft.account, draft.message_id
        ),
        DraftKind::Webhook => format!(
            "{reason} Ask the operator of {} whether a request with the Idempotency-Key {} arrived.",
            draft.to.join(", "),
            super::webhook::idempotency_key(draft)
        ),
    }
}
