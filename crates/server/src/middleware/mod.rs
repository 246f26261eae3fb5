//! The middleware in front of every route, and of answers to unknown paths and methods: checks Host
//! and Origin, authenticates the principal, and applies the limits of [`crate::admission`]. Each
//! route checks the role afterwards.

mod authenticate;
mod body_limit;
pub(crate) mod browser_sessions;
mod forwarded_headers;
mod host_origin;
mod local_token;
mod middleware_state;
mod request_checks;
mod revocation;
mod security_headers;
mod session_file;
mod sign_in_codes;
mod token_cache;
pub(crate) mod token_format;

pub(crate) use authenticate::Authenticated;
pub(crate) use forwarded_headers::is_proxy;
pub(crate) use host_origin::RequestOrigin;
pub(crate) use middleware_state::MiddlewareState;
pub(crate) use request_checks::wrap;
pub(crate) use sign_in_codes::CODE_LIFETIME;
pub(crate) use token_cache::Credential;
