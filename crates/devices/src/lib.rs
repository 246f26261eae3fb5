//! Pairing of programs with Toolcrib, and interface apps: programs that offer their own tools.
//!
//! - `pairing`: codes, claims and confirmations.
//! - `keys`, `signature`, `nonces`: who sent a request or a response, and that it is new.
//! - `address`: addresses at which an app may listen.
//! - `app`: paired apps, their health, tools, signals and messages.
//! - `node`: the other side: this machine offers its own tools to a daemon.
//!
//! # Invariants
//! - Nothing connects to an address before the owner has confirmed it.
//! - A code is used once. Five wrong codes end every open code.
//! - Each direction has its own key. A request is accepted within 60 s of its time, and once.
//! - Only definitions that the owner has reviewed are called, with the risk that the owner chose.
//! - The answer of an app is text from outside, signed by the app, and bounded.
//! - Keys are in the vault and in no row, error or `Debug` text.
//!
//! Out of scope: the HTTP routes that receive requests of apps, and the loop that checks health.

mod address;
mod app;
mod error;
mod key_pair;
mod key_vault;
mod keys;
mod node;
mod nonces;
mod pairing;
mod signature;

pub use address::{AddressError, AppAddress};
pub use app::{
    App, AppHealth, AppSource, AppStatus, Apps, AppsParts, Capability, NewSignal, SIGNALS_TOOL,
    Signal, SignalOutcome, TestedApp, default_risk, source_id,
};
pub use error::DeviceError;
pub use key_vault::KeyVault;
pub use keys::{KeyError, PeerKey};
pub use node::{NodeClaim, NodePairing, NodeRequests};
pub use pairing::{
    AppClaim, CLAIM_TIME_MS, CODE_TIME_MS, ClaimedApp, DeviceKind, NewClaim, NewPairing, Pairing,
    PairingCode, PairingState, WRONG_CODES,
};
pub use signature::{
    InboundRequest, NONCE_HEADER, SIGNATURE_HEADER, SIGNATURE_WINDOW_S, TIMESTAMP_HEADER,
};
