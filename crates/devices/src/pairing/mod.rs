//! Pairing: a code, the claim of a program that knows it, and the confirmation by the owner.

mod claim;
mod code;
mod model;
mod pairings;

pub use claim::{AppClaim, ClaimedApp, DeviceKind, NewClaim};
pub use code::PairingCode;
pub use model::{NewPairing, Pairing, PairingState};
pub(crate) use pairings::Pairings;
pub use pairings::{CLAIM_TIME_MS, CODE_TIME_MS, WRONG_CODES};
