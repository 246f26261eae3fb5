//! The caller of a route that makes calls, with the permit under which its request is read.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::request_admission::RequestPermit;
use crate::problem::Problem;
use crate::role::Principal;

/// The principal of a request and the permit under which the request is read. Handlers that make
/// calls extract this instead of [`Principal`], because `CallAdmission` releases the
/// permit.
#[derive(Debug, Clone)]
pub(crate) struct AdmittedCaller {
    /// The authenticated principal.
    pub(crate) principal: Principal,
    /// The permit of the request.
    pub(super) request_permit: RequestPermit,
}

impl AdmittedCaller {
    /// Creates the caller from its principal and the extensions of its request.
    pub(crate) fn new(principal: Principal, extensions: &axum::http::Extensions) -> Self {
        let request_permit = extensions.get::<RequestPermit>().cloned().unwrap_or_default();
        Self { principal, request_permit }
    }
}

impl Deref for AdmittedCaller {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.principal
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AdmittedCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = Principal::from_request_parts(parts, state).await?;
        Ok(Self::new(principal, &parts.extensions))
    }
}
