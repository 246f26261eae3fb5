//! `unsubscribe_email`: leaves a mailing list by its one-click address (RFC 8058).

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Effect, ErrorType, Reach, Risk, Tool, ToolError, ToolOutput, ToolSpec,
    Trust,
};
use toolcrib_net::{Follow, Limits, Method, Request};

use super::definition::base_spec;
use super::mail_tools::MailTools;
use crate::mailbox;
use crate::message::unsubscribe::{BODY, HEADERS, one_click};

/// Longest time of the request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Handler of `unsubscribe_email`.
pub(super) struct UnsubscribeEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Number of a mail of the list.
    uid: u32,
    /// The address in unsubscribe of read_email, which the user sees before anything is sent.
    url: String,
    /// Id or address of the account. Default: the only one.
    account_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "unsubscribe_email",
        "Leave a mailing list",
        "Unsubscribe from a mailing list by its one-click address, as read_email shows it. Only for mails whose signature the mail server has checked.",
        (
            "Take me off that newsletter",
            json!({"uid": 4711, "url": "https://news.example.org/out?u=1"}),
        ),
    );
    spec.risk = Risk::High;
    spec.effect = Effect::SideEffect;
    spec.reach = Reach { outbound: true, private_read: true, ..Reach::default() };
    spec.trust = Trust::Tool;
    spec.polling = false;
    spec
}

impl Tool for UnsubscribeEmail {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("unsubscribe from the list of mail {} at {}", args.uid, args.url);
        Ok(Assessment::from_spec(spec).with_summary(summary))
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let account = self.0.accounts.find(args.account_id.as_deref())?;
        let login = self.0.accounts.login(account).await?;
        let headers = mailbox::headers(&login, args.uid, HEADERS).await?;
        let url = one_click(&headers).map_err(|reason| {
            ToolError::validation(format!(
                "Mail {} cannot be unsubscribed from with one click: {reason}. Tell the user; their mail program may offer another way.",
                args.uid
            ))
        })?;
        // The user has seen the address of the call, so no other is used.
        if url.as_str() != args.url.trim() {
            return Err(ToolError::validation(format!(
                "The one-click address of mail {} is {url}, not the one that was passed. Pass that one.",
                args.uid
            )));
        }
        let mut request = Request::new(Method::POST, url.as_str());
        let form = "application/x-www-form-urlencoded".to_owned();
        request.headers.push(("Content-Type".to_owned(), form));
        request.body = BODY;
        // A redirect would lead to an address that the signature does not cover.
        request.follow = Follow::Never;
        let limits = Limits { total: TIMEOUT, ..Limits::default() };
        let answer = self.0.client.send(&request, &limits).await.map_err(|error| {
            ToolError::new(ErrorType::NetworkError, format!("The list was not reached: {error}"))
        })?;
        match answer.head.status {
            status @ 200..=299 => Ok(ToolOutput::structured(json!({
                "unsubscribed": true, "url": url.as_str(), "http_status": status,
                "note": "The list took the request. It can take some days until no more mail arrives.",
            }))),
            status => Err(ToolError::execution(format!(
                "The list answered {status}, so it did not take the request. Tell the user."
            ))),
        }
    }
}
