//! Making a draft of an SMS, and what a rule of the person lets leave.

use serde_json::json;
use toolcrib_assistant::draft::{
    Draft, DraftChange, DraftError, DraftKind, DraftStatus, NewDraft, SendRequest, announce,
    sms_number,
};
use toolcrib_assistant::{Writer, author_of, untrusted_source};
use toolcrib_core::{CallCtx, ToolError, ToolOutput};

use super::sms_tools::SmsTools;

/// The part of a message id after the `@`.
const DOMAIN: &str = "toolcrib";

/// An SMS to write.
pub(super) struct SmsDraft {
    pub(super) to: String,
    pub(super) text: String,
    /// The draft that it replaces.
    pub(super) replaces: Option<String>,
    /// Whether a rule of the person lets it leave.
    pub(super) by_rule: bool,
}

/// Returns the number of a recipient without spaces and signs.
pub(super) fn number(text: &str) -> Result<String, ToolError> {
    sms_number(text).ok_or_else(|| DraftError::SmsRecipient.into())
}

/// Makes the draft; sends it if a rule of the person says so.
pub(super) async fn make(
    tools: &SmsTools,
    ctx: &CallCtx,
    sms: SmsDraft,
) -> Result<ToolOutput, ToolError> {
    let phone = tools.phone(ctx)?.for_sending()?;
    let writer = Writer {
        owner: ctx.context.owner.clone(),
        author: author_of(ctx),
        untrusted: untrusted_source(&tools.labels, ctx),
    };
    let by_rule = sms.by_rule;
    let draft = written(tools, &writer, phone.name, sms).await?;
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

async fn written(
    tools: &SmsTools,
    writer: &Writer,
    account: String,
    sms: SmsDraft,
) -> Result<Draft, ToolError> {
    let SmsDraft { to, text, replaces, .. } = sms;
    let Some(id) = replaces.as_deref().map(str::trim).filter(|id| !id.is_empty()) else {
        let new = NewDraft {
            kind: DraftKind::Sms,
            account,
            to: vec![to],
            subject: String::new(),
            body: text,
            attachments: Vec::new(),
            in_reply_to: None,
            references: Vec::new(),
            message_domain: DOMAIN.to_owned(),
        };
        return Ok(tools.drafts.create(writer, new).await?);
    };
    if tools.drafts.get(&writer.owner, id).await?.kind != DraftKind::Sms {
        return Err(DraftError::Unknown(id.to_owned()).into());
    }
    let change = DraftChange { to: Some(vec![to]), body: Some(text), ..DraftChange::default() };
    Ok(tools.drafts.rewrite(writer, id, &change).await?)
}

fn answer(draft: &Draft) -> ToolOutput {
    let note = match draft.status {
        DraftStatus::Draft => {
            "Nothing was sent. The user sends the draft with `toolcrib draft send`, or discards it. Show them what it says. To change it, pass its draft_id."
        }
        DraftStatus::Sent => {
            "It was sent, because a rule of the user lets SMS to this recipient leave."
        }
        _ => "It was not sent as it should be; tell the user.",
    };
    let mut answer = json!({
        "draft_id": draft.id,
        "status": draft.status.as_str(),
        "to": draft.to,
        "note": note,
    });
    if let Some(problem) = &draft.note {
        answer["problem"] = json!(problem);
    }
    ToolOutput::structured(answer)
}
