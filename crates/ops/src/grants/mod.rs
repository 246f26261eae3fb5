//! Operations on grants (remembered approvals).

mod grant;
mod list;
mod past_calls;
mod preview;
mod remembered;
mod revoke;
mod show;

pub use grant::GrantReply;
pub use list::{ListGrantsRequest, list};
pub use past_calls::{PastCalls, SCAN_LIMIT, past_calls};
pub use preview::{GrantPreview, GrantPreviewDocument, PreviewGrantRequest, preview};
pub use remembered::is_remembered;
pub use revoke::{RevokeGrantRequest, RevokedGrant, revoke};
pub use show::{ShowGrantRequest, show};
