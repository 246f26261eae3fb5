//! Operations on paired apps and on pairings.

mod change;
mod claim;
mod decide;
mod inbound;
mod list;
mod owner;
mod pair;
mod review;
mod row;
mod test;

pub use change::{RenameAppRequest, RevokeAppRequest, rename, revoke};
pub use claim::{ClaimReply, ClaimRequest, KeyBody, claim};
pub use decide::{ConfirmPairingRequest, confirm, refuse};
pub use inbound::{
    AppMessageReply, AppMessageRequest, AppSignal, RejectedSignal, SignalsReply, SignalsRequest,
    authenticate, send_message, send_signals,
};
pub use list::{list, show};
pub use pair::{NewPairingReply, pair, pairing, pairings};
pub use review::{AcceptAppReviewRequest, AppReview, HeldAppTool, accept_review, review};
pub use row::{AppReply, AppToolReply, CapabilityReply, ClaimedAppReply, PairingReply, RiskName};
pub use test::{TestedAppReply, test};
