//! A pairing as it is stored.

use serde::{Deserialize, Serialize};

use super::claim::AppClaim;
use super::code::PairingCode;

/// The state of a pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    /// The code can be used.
    Open,
    /// The code was typed wrong too often.
    Burned,
    /// A program has used the code and waits for the owner.
    Claimed,
    /// The owner has confirmed it.
    Confirmed,
    /// The owner has refused it, or it could not be confirmed.
    Refused,
    /// Its time is over. Never stored.
    Expired,
}

impl PairingState {
    /// Returns the name in replies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Burned => "burned",
            Self::Claimed => "claimed",
            Self::Confirmed => "confirmed",
            Self::Refused => "refused",
            Self::Expired => "expired",
        }
    }
}

/// A pairing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pairing {
    /// Its id.
    pub id: String,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// End of its present state, Unix time in milliseconds.
    pub expires_at: i64,
    /// Who asked for the code.
    pub created_by: String,
    /// Number of wrong codes since it was created.
    pub wrong: u32,
    /// The program that has used the code.
    pub claim: Option<AppClaim>,
    pub(crate) state: PairingState,
    pub(crate) salt: String,
    pub(crate) digest: String,
}

impl Pairing {
    /// Returns the state at this time.
    #[must_use]
    pub fn state(&self, now: i64) -> PairingState {
        match self.state {
            PairingState::Open | PairingState::Claimed if now > self.expires_at => {
                PairingState::Expired
            }
            state => state,
        }
    }

    pub(crate) fn has_code(&self, code: &PairingCode) -> bool {
        code.digest(&self.salt) == self.digest
    }
}

/// A new pairing with its code, which is shown once.
#[derive(Debug, Clone)]
pub struct NewPairing {
    /// The pairing.
    pub pairing: Pairing,
    /// Its code.
    pub code: PairingCode,
}
