//! Operations on tokens. Only a daemon runs them, because it caches the tokens that it accepts; the
//! commands go through it.

mod context;
mod create;
mod list;
mod revoke;
mod rights;
mod row;
mod show;

pub use context::{TokenContext, TokenTable};
pub use create::{CreateTokenRequest, create};
pub use list::{ListTokensRequest, list};
pub use revoke::{RevokeTokenRequest, RevokedToken, revoke};
pub use rights::CallerRights;
pub use row::{MadeToken, TokenRow};
pub use show::{ShowTokenRequest, show};
