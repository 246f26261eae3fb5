//! Sends a draft exactly once.
//!
//! The draft is stored as `sending` under a claim of this process before any byte is sent. A
//! process that reads it later asks the store whether the claim's holder is alive. If it is not,
//! the draft may or may not have been sent, and it becomes `unknown`.

use std::time::Duration;

use toolcrib_core::{Author, BoxFuture, WorkerState};

use super::drafts::{ATTEMPTS, Drafts, refused};
use super::error::DraftError;
use super::kind::DraftKind;
use super::model::{Attempt, Draft, DraftStatus};
use crate::rows::{RowError, Writer};

/// Time limit of one delivery. Carriers have shorter limits; this one ends carriers that exceed
/// theirs.
const LONGEST: Duration = Duration::from_secs(300);

/// The result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The server accepted the draft; the text names a part that failed.
    Sent(Option<String>),
    /// The draft was refused, and nothing was sent.
    Failed(String),
    /// The draft may have been sent.
    Unknown(String),
}

/// Delivers drafts of one kind.
pub trait Carrier: Send + Sync {
    /// Returns the kind.
    fn kind(&self) -> DraftKind;

    /// Delivers a draft, once.
    fn deliver<'a>(&'a self, owner: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery>;
}

/// A request to send a draft.
#[derive(Debug, Clone)]
pub struct SendRequest {
    /// Its id.
    pub id: String,
    /// The version that the person read; `None` for the current version.
    pub version: Option<i64>,
    /// Whether to send an `unknown` draft again, although it may have been sent.
    pub again: bool,
    /// The person or the rule that sends it.
    pub by: String,
}

impl Drafts {
    /// Sends a draft, and waits for the result. If the caller stops waiting, sending continues.
    ///
    /// # Errors
    /// [`DraftError`] if it may not be sent now; the draft's status is the result of the delivery.
    pub async fn send(&self, writer: &Writer, request: SendRequest) -> Result<Draft, DraftError> {
        let (drafts, writer) = (self.clone(), writer.clone());
        // Use a separate task: dropping the request of a person must not interrupt the delivery.
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
        // Release the claim after the status is stored: a draft that is `sending` under an ended
        // claim is `unknown`.
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
        // After a timeout, the server may still have accepted the draft.
        let delivery = delivered.unwrap_or_else(|_| {
            Delivery::Unknown(format!("The server did not answer in {} s.", LONGEST.as_secs()))
        });
        self.record(writer, &draft.id, claim, delivery).await
    }

    /// Records the result of the delivery under this claim.
    async fn record(
        &self,
        writer: &Writer,
        id: &str,
        claim: u64,
        delivery: Delivery,
    ) -> Result<Draft, DraftError> {
        self.change(writer, id, None, "ended", |draft| {
            // Another process may have set the draft to `unknown` and sent it again.
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

    /// Returns the draft; sets it to `unknown` if the process that sent it has ended.
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

/// Returns the writer for drafts that a dead process left behind.
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

/// Returns the note for a draft that may have been sent.
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
        DraftKind::Sms => format!(
            "{reason} Look at the messages of the phone to {} whether the SMS is there. If the draft is sent again unchanged, the app on the phone recognizes it, and sends it once.",
            draft.to.join(", ")
        ),
        DraftKind::Chat => format!(
            "{reason} Look at the conversation of {} with {} whether the message is there.",
            draft.account,
            draft.to.join(", ")
        ),
    }
}
