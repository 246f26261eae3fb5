//! Making a draft of a mail, and what a rule of the person lets leave.

use serde_json::json;
use toolcrib_assistant::draft::{
    Draft, DraftChange, DraftError, DraftKind, DraftStatus, NewDraft, SendRequest, announce,
};
use toolcrib_assistant::{Writer, author_of, untrusted_source};
use toolcrib_core::{Assessment, CallCtx, Effect, Reach, ToolError, ToolOutput, ToolSpec, Trust};

use super::attachments::attachments;
use super::mail_tools::MailTools;
use crate::account::MailAccount;
use crate::message::recipients;

/// A mail to write.
pub(super) struct MailDraft {
    pub(super) account: MailAccount,
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) body: String,
    /// `None` = none, or those of the draft that it replaces.
    pub(super) attachments: Option<Vec<String>>,
    /// The draft that it replaces.
    pub(super) replaces: Option<String>,
    /// Message-IDs of the thread; the last one is answered.
    pub(super) thread: Vec<String>,
}

/// A call that makes a draft reaches nothing outside; one whose draft a rule lets leave does.
pub(super) fn assess(
    tools: &MailTools,
    spec: &ToolSpec,
    to: &str,
    subject: &str,
) -> Result<Assessment, ToolError> {
    let to = recipients(to)?;
    let mut assessment = Assessment::from_spec(spec);
    let leaves = tools.drafts.has_rule_for(DraftKind::Mail, &to);
    let what = if leaves { "send a mail by your rule" } else { "write a draft of a mail" };
    if leaves {
        assessment.effect = Effect::SideEffect;
        assessment.reach.outbound = true;
    }
    Ok(assessment.with_summary(format!("{what} to {}: {subject}", to.join(", "))))
}

/// Changes what a base definition says for tools that write.
pub(super) fn writes(spec: &mut ToolSpec) {
    spec.effect = Effect::SideEffect;
    spec.reach = Reach::default();
    spec.trust = Trust::Tool;
    spec.polling = false;
}

/// Makes the draft; sends it if a rule of the person says so.
pub(super) async fn make(
    tools: &MailTools,
    ctx: &CallCtx,
    mail: MailDraft,
) -> Result<ToolOutput, ToolError> {
    let to = recipients(&mail.to)?;
    let by_rule = tools.drafts.has_rule_for(DraftKind::Mail, &to);
    let files = match &mail.attachments {
        Some(named) => Some(attachments(tools, ctx, named).await?),
        None => None,
    };
    let writer = Writer {
        owner: ctx.context.owner.clone(),
        author: author_of(ctx),
        untrusted: untrusted_source(&tools.labels, ctx),
    };
    let replaces = mail.replaces.as_deref().map(str::trim).filter(|id| !id.is_empty());
    let draft = match replaces {
        Some(id) => {
            if tools.drafts.get(&writer.owner, id).await?.kind != DraftKind::Mail {
                return Err(DraftError::Unknown(id.to_owned()).into());
            }
            let change = DraftChange {
                account: Some(mail.account.address),
                to: Some(to),
                subject: Some(mail.subject),
                body: Some(mail.body),
                attachments: files,
            };
            tools.drafts.rewrite(&writer, id, &change).await?
        }
        None => {
            let new = NewDraft {
                kind: DraftKind::Mail,
                message_domain: mail.account.domain().to_owned(),
                account: mail.account.address,
                to,
                subject: mail.subject,
                body: mail.body,
                attachments: files.unwrap_or_default(),
                in_reply_to: mail.thread.last().cloned(),
                references: mail.thread,
            };
            tools.drafts.create(&writer, new).await?
        }
    };
    if !by_rule {
        announce(&tools.notifier, &writer, &draft).await;
        return Ok(answer(&draft));
    }
    let request = SendRequest {
        id: draft.id.clone(),
        version: Some(draft.version),
        again: false,
        by: "a rule".to_owned(),
    };
    Ok(answer(&tools.drafts.send(&writer, request).await?))
}

fn answer(draft: &Draft) -> ToolOutput {
    let note = match draft.status {
        DraftStatus::Draft => {
            "Nothing was sent. The user sends the draft with `toolcrib draft send`, or discards it. Show them what it says. To change it, pass its draft_id."
        }
        DraftStatus::Sent => {
            "It was sent, because a rule of the user lets mail to this recipient leave."
        }
        _ => "It was not sent as it should be; tell the user.",
    };
    let mut answer = json!({
        "draft_id": draft.id,
        "status": draft.status.as_str(),
        "from": draft.account,
        "to": draft.to,
        "subject": draft.subject,
        "note": note,
    });
    if let Some(problem) = &draft.note {
        answer["problem"] = json!(problem);
    }
    ToolOutput::structured(answer)
}
