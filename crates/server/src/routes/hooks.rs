//! Webhooks that start tasks: signed requests from other programs, which have no token.

use axum::extract::State;
use axum::http::HeaderMap;
use toolcrib_assistant::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER};
use toolcrib_ops::tasks::{WebhookReply, WebhookRequest, verify_webhook};

use crate::api::{Api, Bytes, Json, Operation, Path};
use crate::problem::{Code, Problem};
use crate::role::Role;
use crate::state::DaemonState;

/// Bytes of a body.
const MAX_BODY: usize = 64 * 1024;

pub(super) fn routes(api: &mut Api) {
    let call = Operation::post("/hooks/{hook}", Role::Viewer, "Starts the tasks of a webhook.");
    let call = call.public().description("`X-Toolcrib-Timestamp` has the Unix time in seconds, at most 300 s from the daemon's, and `X-Toolcrib-Signature` has `sha256=` and the HMAC-SHA256, in hexadecimal digits, of that time, a dot and the body, under the secret `hook-NAME` of the vault. The body, at most 64 KiB of text, is given to the runs as text from outside. A request that is repeated starts nothing.");
    api.add(
        call.also_accepts("application/json")
            .bytes()
            .returns_ok::<WebhookReply>("The event is accepted."),
        call_hook,
    );
}

async fn call_hook(
    State(daemon): State<DaemonState>,
    Path(hook): Path<String>,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Json<WebhookReply>, Problem> {
    if body.len() > MAX_BODY {
        return Err(Problem::new(Code::TooLarge, "the body has more than 64 KiB"));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = text(TIMESTAMP_HEADER).and_then(|text| text.trim().parse().ok());
    let (Some(seconds), Some(signature)) = (seconds, text(SIGNATURE_HEADER)) else {
        let words = "send X-Toolcrib-Timestamp and X-Toolcrib-Signature, as the documentation says";
        return Err(Problem::new(Code::BadRequest, words));
    };
    let content_type = text("content-type").unwrap_or("text/plain");
    let request = WebhookRequest { hook: &hook, seconds, signature, content_type, body: &body };
    let verified = verify_webhook(daemon.toolcrib(), request).await?;
    // Counted here, so that a stranger without the secret uses nothing up.
    daemon.hook_limits().count(&hook)?;
    Ok(Json(verified.deliver(daemon.toolcrib()).await?))
}
