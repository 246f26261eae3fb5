//! Sends drafts of the kind sms, each once.
//!
//! The app sends a message with the same id once. So the id is derived from the draft, its
//! recipient and its text, and the app is asked about it before anything is handed over: a draft
//! that left in an earlier attempt is recognized, and does not leave again. After a failure that is
//! certain, the next attempt has the next id.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_assistant::draft::{Carrier, Delivery, Draft, DraftKind};
use toolcrib_core::{BoxFuture, canonical_json};

use crate::account::SmsPhones;
use crate::error::SmsError;
use crate::gateway::{Gateway, SentState};
use crate::service::OWNER;

/// Maximum attempts that failed for certain, and so have an id each.
const MAX_FAILED: usize = 20;
/// How long the app is asked whether the message has left.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two of these questions.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a message is handed over under the same id if no answer comes.
const HANDOVERS: u32 = 2;

/// Sends drafts of the kind sms.
pub struct SmsCarrier {
    phones: SmsPhones,
}

impl SmsCarrier {
    /// Creates a carrier that sends over this phone.
    #[must_use]
    pub fn new(phones: SmsPhones) -> Self {
        Self { phones }
    }

    async fn send(&self, owner: &str, draft: &Draft) -> Delivery {
        if owner != OWNER {
            return Delivery::Failed(SmsError::NoPhone.to_string());
        }
        let opened = self.phones.find().and_then(|phone| self.phones.open(&phone.for_sending()?));
        let gateway = match opened {
            Ok(gateway) => gateway,
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        for attempt in 0..MAX_FAILED {
            let id = message_id(draft, attempt);
            match gateway.state(&id).await {
                Ok(None) => return hand_over(&gateway, &id, draft).await,
                Ok(Some(SentState::Failed(_))) => {}
                Ok(Some(state)) => return follow(&gateway, &id, state).await,
                Err(error) => return Delivery::Failed(error.to_string()),
            }
        }
        Delivery::Failed(format!("The phone could not send it {MAX_FAILED} times."))
    }
}

/// Returns the id of an attempt: the same for the same message, and another one for another text.
fn message_id(draft: &Draft, attempt: usize) -> String {
    let to = draft.to.join(",");
    let attempt = attempt.to_string();
    let mut id =
        canonical_json::sha256_parts(&["sms", &draft.message_id, &to, &draft.body, &attempt]);
    // The app's documentation allows 36 characters.
    id.truncate(32);
    id
}

/// Hands a message over, and finds out what became of it.
async fn hand_over(gateway: &Gateway, id: &str, draft: &Draft) -> Delivery {
    let to = draft.to.first().map(String::as_str).unwrap_or_default();
    let mut problem = String::new();
    for handover in 0..HANDOVERS {
        let error = match gateway.send(id, to, &draft.body).await {
            Ok(()) => return follow(gateway, id, SentState::Waiting).await,
            Err(error) => error,
        };
        if handover == 0 && is_certain(&error) {
            return Delivery::Failed(error.to_string());
        }
        problem = error.to_string();
        tokio::time::sleep(PAUSE).await;
        // The answer was lost. The app knows whether the message arrived.
        match gateway.state(id).await {
            Ok(Some(state)) => return follow(gateway, id, state).await,
            Ok(None) => {}
            Err(_) => break,
        }
    }
    Delivery::Unknown(problem)
}

/// Returns whether nothing was accepted after an error.
fn is_certain(error: &SmsError) -> bool {
    match error {
        SmsError::Unreachable { unsent, .. } => *unsent,
        SmsError::Refused { status, .. } => *status < 500,
        SmsError::Answer { .. } => false,
        _ => true,
    }
}

/// Asks until the message has left, has failed, or takes too long.
async fn follow(gateway: &Gateway, id: &str, state: SentState) -> Delivery {
    let (mut state, until) = (state, Instant::now() + PATIENCE);
    while Instant::now() < until {
        match state {
            SentState::Left(None) => return Delivery::Sent(None),
            SentState::Left(Some(reason)) => {
                let note = format!("The SMS left the phone, but was not delivered: {reason}");
                return Delivery::Sent(Some(note));
            }
            SentState::Failed(reason) => {
                return Delivery::Failed(format!("The phone could not send it: {reason}"));
            }
            SentState::Waiting => {}
        }
        tokio::time::sleep(PAUSE).await;
        state = match gateway.state(id).await {
            Ok(Some(state)) => state,
            Ok(None) | Err(_) => SentState::Waiting,
        };
    }
    Delivery::Sent(Some(
        "The phone has accepted the SMS, but has not reported that it left; it may leave later."
            .to_owned(),
    ))
}

impl Carrier for SmsCarrier {
    fn kind(&self) -> DraftKind {
        DraftKind::Sms
    }

    fn deliver<'a>(&'a self, owner: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery> {
        Box::pin(self.send(owner, draft))
    }
}
