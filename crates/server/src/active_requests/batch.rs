//! The batch of a request: the calls with the identity and the view of its principal.

use std::sync::Arc;

use toolcrib_app::Toolcrib;
use toolcrib_core::{Batch, Call, Context, Origin, ViewRequest};

use crate::role::{Principal, Role};
use crate::telemetry::Telemetry;

/// Builds a batch of these calls on behalf of this principal, linked to the trace of the current
/// request.
pub(super) fn build_batch(
    toolcrib: &Toolcrib,
    telemetry: &Telemetry,
    principal: &Principal,
    calls: Vec<Call>,
) -> Batch {
    telemetry.link_calls(calls.iter().map(|call| call.id));
    let batch = toolcrib.manual_batch(calls, Origin::Rest);
    let context = Context { owner: principal.owner.clone(), ..Context::clone(&batch.context) };
    // The device is recorded with every call: with four eyes, its principal may not decide about
    // it.
    let device = principal.name.clone();
    let context = Context { channel: channel_for(principal).to_owned(), device, ..context };
    Batch { context: Arc::new(context), view: Arc::new(view_request_for(principal)), ..batch }
}

/// Returns the channel of a principal's calls: `chat` if the principal may decide about calls, so
/// that it is asked about its own calls; `external-agent` otherwise.
pub(crate) fn channel_for(principal: &Principal) -> &'static str {
    if principal.has_role(Role::Approver) { "chat" } else { "external-agent" }
}

/// Returns the view of a principal: the tools that its token is limited to and that its strongest
/// role allows.
pub(crate) fn view_request_for(principal: &Principal) -> ViewRequest {
    let role = principal.roles.list().last().map(|role| role.as_str().to_owned());
    ViewRequest {
        role: role.unwrap_or_default(),
        agent: principal.tools.clone(),
        ..ViewRequest::default()
    }
}
