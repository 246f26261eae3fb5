//! The pairings of the owner: creating codes, taking claims, deciding.

use std::sync::Arc;

use toolcrib_assistant::{RowError, TypedRows, Writer};
use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::claim::AppClaim;
use super::code::PairingCode;
use super::model::{NewPairing, Pairing, PairingState};
use crate::error::DeviceError;
use crate::keys::{KeyError, random_hex};

/// How long a code can be used, in milliseconds.
pub const CODE_TIME_MS: i64 = 5 * 60_000;
/// How long a claim waits for the owner, in milliseconds.
pub const CLAIM_TIME_MS: i64 = 10 * 60_000;
/// The number of wrong codes that end every open code.
pub const WRONG_CODES: u32 = 5;
/// Maximum codes that are open at once.
const OPEN: usize = 5;
/// How long ended pairings are kept, in milliseconds.
const KEPT: i64 = 24 * 3_600_000;
/// The owner of all pairings, the only one so far.
const OWNER: &str = "";

/// The pairings of the owner.
pub(crate) struct Pairings {
    rows: TypedRows<Pairing>,
    /// One claim at a time, so that parallel guesses are counted before the next is compared.
    claiming: tokio::sync::Mutex<()>,
}

impl Pairings {
    pub(crate) fn new(store: Arc<dyn AssistantRowStore>) -> Self {
        Self {
            rows: TypedRows::new(store, RowKind::Pairing),
            claiming: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> i64 {
        self.rows.now()
    }

    /// Returns all pairings, the newest first.
    pub(crate) async fn all(&self) -> Result<Vec<Pairing>, DeviceError> {
        let rows = self.rows.all(OWNER).await?;
        let mut all: Vec<Pairing> = rows.into_iter().map(|row| row.body).collect();
        all.sort_by_key(|pairing| std::cmp::Reverse(pairing.created_at));
        Ok(all)
    }

    /// Returns the pairing with this id.
    pub(crate) async fn get(&self, id: &str) -> Result<Pairing, DeviceError> {
        let row = self.rows.get(OWNER, id).await?;
        row.map(|row| row.body).ok_or_else(|| DeviceError::UnknownPairing(id.to_owned()))
    }

    /// Creates a pairing with a new code, and removes old ones.
    pub(crate) async fn create(&self, by: &str) -> Result<NewPairing, DeviceError> {
        let now = self.now();
        let all = self.all().await?;
        for old in all.iter().filter(|old| old.created_at < now - KEPT) {
            self.rows.change(&writer(by), &old.id, |_| removed()).await?;
        }
        let open = all.iter().filter(|one| one.state(now) == PairingState::Open).count();
        if open >= OPEN {
            return Err(DeviceError::Conflict(format!(
                "{open} codes are open; use one of them, or wait until they expire"
            )));
        }
        let code = PairingCode::fresh().map_err(no_random)?;
        let salt = random_hex::<16>().map_err(no_random)?;
        let pairing = Pairing {
            id: format!("pair_{}", random_hex::<6>().map_err(no_random)?),
            created_at: now,
            expires_at: now + CODE_TIME_MS,
            created_by: by.to_owned(),
            wrong: 0,
            claim: None,
            state: PairingState::Open,
            digest: code.digest(&salt),
            salt,
        };
        let body = pairing.clone();
        self.rows
            .change::<_, DeviceError>(&writer(by), &pairing.id, |_| {
                Ok((Some(body.clone()), "created".to_owned(), ()))
            })
            .await?;
        Ok(NewPairing { pairing, code })
    }

    /// Takes the claim of a program that knows a code. `check` creates the claim, after the code
    /// was found right; a claim without proof of its key counts as a wrong code.
    pub(crate) async fn claim(
        &self,
        typed: &str,
        check: impl FnOnce() -> Result<AppClaim, DeviceError>,
    ) -> Result<Pairing, DeviceError> {
        let _one = self.claiming.lock().await;
        let now = self.now();
        let all = self.all().await?;
        let code = PairingCode::parse(typed);
        let found = code.and_then(|code| all.iter().find(|one| one.has_code(&code)));
        let Some(found) = found else {
            return Err(self.count_wrong(&all, now).await);
        };
        match found.state(now) {
            PairingState::Open => {}
            state => return Err(ended_code(state)),
        }
        let claim = match check() {
            Err(DeviceError::Unauthorized(why)) => {
                self.count_wrong(std::slice::from_ref(found), now).await;
                return Err(DeviceError::Unauthorized(why));
            }
            claim => claim?,
        };
        self.rows
            .change(&writer(&claim.name), &found.id, |row| {
                let row = row.ok_or_else(|| DeviceError::UnknownPairing(found.id.clone()))?;
                match row.state(now) {
                    PairingState::Open => {}
                    state => return Err(ended_code(state)),
                }
                let next = Pairing {
                    state: PairingState::Claimed,
                    expires_at: now + CLAIM_TIME_MS,
                    claim: Some(claim.clone()),
                    ..row
                };
                Ok((Some(next.clone()), "claimed".to_owned(), next))
            })
            .await
    }

    /// Counts a wrong code against these pairings, and returns the error for its sender.
    async fn count_wrong(&self, all: &[Pairing], now: i64) -> DeviceError {
        let mut left = None;
        for open in all.iter().filter(|one| one.state(now) == PairingState::Open) {
            let counted = self
                .rows
                .change::<_, DeviceError>(&writer("pairing"), &open.id, |row| {
                    let Some(row) = row else { return Ok((None, String::new(), 0)) };
                    let wrong = row.wrong + 1;
                    let state = match row.state {
                        PairingState::Open if wrong >= WRONG_CODES => PairingState::Burned,
                        state => state,
                    };
                    let next = Pairing { wrong, state, ..row };
                    Ok((Some(next), "wrong code".to_owned(), WRONG_CODES.saturating_sub(wrong)))
                })
                .await;
            match counted {
                Ok(still) => left = left.max(Some(still)),
                Err(error) => return error,
            }
        }
        DeviceError::Unauthorized(match left {
            None => "no code is open; ask the owner for a new one".to_owned(),
            Some(0) => format!(
                "the code is wrong, for the {WRONG_CODES}th time: no code is open any more; ask the owner for a new one"
            ),
            Some(left) => {
                format!("the code is wrong; after {left} more wrong codes every open code ends")
            }
        })
    }

    /// Returns a claim that waits, without deciding.
    pub(crate) async fn waiting(
        &self,
        id: &str,
        fingerprint: Option<&str>,
    ) -> Result<AppClaim, DeviceError> {
        claim_of(&self.get(id).await?, fingerprint, self.now())
    }

    /// Marks a claim that waits as confirmed. One of several callers succeeds.
    pub(crate) async fn confirm(
        &self,
        id: &str,
        fingerprint: &str,
        by: &str,
    ) -> Result<(), DeviceError> {
        let now = self.now();
        self.rows
            .change(&writer(by), id, |row| {
                let row = row.ok_or_else(|| DeviceError::UnknownPairing(id.to_owned()))?;
                claim_of(&row, Some(fingerprint), now)?;
                let next = Pairing { state: PairingState::Confirmed, ..row };
                Ok((Some(next), "confirmed".to_owned(), ()))
            })
            .await
    }

    /// Ends a code that is open or a claim that waits.
    pub(crate) async fn refuse(&self, id: &str, by: &str) -> Result<Pairing, DeviceError> {
        let now = self.now();
        self.rows
            .change(&writer(by), id, |row| {
                let row = row.ok_or_else(|| DeviceError::UnknownPairing(id.to_owned()))?;
                if row.state(now) != PairingState::Open {
                    claim_of(&row, None, now)?;
                }
                let next = Pairing { state: PairingState::Refused, ..row };
                Ok((Some(next.clone()), "refused".to_owned(), next))
            })
            .await
    }

    /// Marks a confirmed pairing as refused, because its app could not be stored.
    pub(crate) async fn take_back(&self, id: &str, by: &str) -> Result<(), DeviceError> {
        self.rows
            .change(&writer(by), id, |row| {
                let next = row.map(|row| Pairing { state: PairingState::Refused, ..row });
                Ok((next, "could not be confirmed".to_owned(), ()))
            })
            .await
    }
}

/// Returns the claim of a pairing that waits for the owner.
fn claim_of(
    pairing: &Pairing,
    fingerprint: Option<&str>,
    now: i64,
) -> Result<AppClaim, DeviceError> {
    match (pairing.state(now), &pairing.claim) {
        (PairingState::Claimed, Some(claim))
            if fingerprint.is_some_and(|given| given != claim.fingerprint) =>
        {
            Err(DeviceError::Conflict(
                "the fingerprint is not that of the app that waits; compare it with the one that the app shows".to_owned(),
            ))
        }
        (PairingState::Claimed, Some(claim)) => Ok(claim.clone()),
        (PairingState::Open, _) => {
            Err(DeviceError::Conflict("no app has used the code yet".to_owned()))
        }
        (PairingState::Confirmed, _) => {
            Err(DeviceError::Conflict("the pairing is already confirmed".to_owned()))
        }
        (PairingState::Refused, _) => {
            Err(DeviceError::Conflict("the pairing was already refused".to_owned()))
        }
        _ => Err(DeviceError::Gone("the pairing has ended; create a new code".to_owned())),
    }
}

fn ended_code(state: PairingState) -> DeviceError {
    DeviceError::Gone(match state {
        PairingState::Burned => {
            "the code ended because wrong codes were sent; ask the owner for a new one".to_owned()
        }
        PairingState::Expired => {
            "the code has expired: it is valid for 5 minutes; ask the owner for a new one"
                .to_owned()
        }
        _ => "the code was used before; ask the owner for a new one".to_owned(),
    })
}

fn removed() -> Result<(Option<Pairing>, String, ()), RowError> {
    Ok((None, "removed".to_owned(), ()))
}

fn no_random(error: KeyError) -> DeviceError {
    DeviceError::Vault(error.to_string())
}

fn writer(by: &str) -> Writer {
    Writer { owner: OWNER.to_owned(), author: Author::person(by), untrusted: None }
}
