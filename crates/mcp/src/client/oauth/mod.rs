//! OAuth 2.1 for HTTP servers, as in MCP 2025-11-25 and 2026-07-28.
//!
//! Invariants
//! - A token is sent only to the server for which it was requested; data of one authorization
//!   server is never sent to another.
//! - All requests go through the address-checking client with bounded responses; credentials are
//!   sent only over TLS or on this machine.
//! - Consent is never simulated: the connection reports that it needs authorization, and [`Login`]
//!   obtains it from a person.
//!
//! The crate `oauth2` (5.0) is not used, because it lacks most of this: metadata of the resource
//! and of the authorization server (RFC 9728, RFC 8414), registration of clients (RFC 7591), client
//! authentication by a signed assertion (RFC 7523) and token exchange (RFC 8693). It would replace
//! only parts of `token_endpoint`.
//!
//! Out of scope: implicit and password grants, guessed endpoints, sender-constrained tokens (a
//! draft extension).

mod auth_error;
mod client_assertion;
mod client_registration;
mod login;
mod metadata;
mod oauth_http;
mod oauth_settings;
mod stored_credentials;
mod token_endpoint;
mod token_manager;
mod url_policy;
mod www_authenticate;

pub use auth_error::AuthError;
use auth_error::bounded_text;
pub use login::Login;
pub use oauth_settings::{GrantKind, Oauth};
pub use stored_credentials::StoredCredentials;

pub(crate) use token_manager::{RefreshResult, TokenManager};
pub(crate) use www_authenticate::Challenge;
