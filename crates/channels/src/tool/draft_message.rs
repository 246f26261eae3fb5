//! `draft_message`: writes a draft of a chat message to another person.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_assistant::draft::{
    Draft, DraftChange, DraftError, DraftKind, DraftStatus, NewDraft, SendRequest, announce,
    chat_recipient,
};
use toolcrib_assistant::{Writer, author_of, untrusted_source};
use toolcrib_core::{
    Assessment, CallCtx, ConfigKey, Effect, Example, Permission, Reach, Risk, Tool, ToolError,
    ToolName, ToolOutput, ToolSpec, Trust, remote_name, schema,
};

use super::channel_tools::{ACCOUNT_KEY, ChannelTools, SOURCE};
use crate::account::ChannelAccount;
use crate::error::ChannelError;

/// Name of the tool.
const NAME: &str = "draft_message";
/// The part of a message id after the `@`.
const DOMAIN: &str = "toolcrib";

/// Handler of `draft_message`.
pub(super) struct DraftMessage(pub(super) ChannelTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Name of the channel that sends. Default: the only one.
    channel: Option<String>,
    /// Id of the recipient at the service: a number for Telegram, @name:server for Matrix.
    to: String,
    /// Text, in plain text.
    text: String,
    /// Id of an unsent draft of yours that this one replaces.
    draft_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    // The name is valid; the other arm only avoids a panic.
    let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name(SOURCE, NAME));
    let description = "Write a draft of a chat message (Telegram, Matrix) to another person. Nothing is sent: the user reads the draft and sends it. To answer the person who writes to you, just answer.";
    let mut spec = ToolSpec::new(name, description, schema::for_type::<Args>());
    "Write a chat message".clone_into(&mut spec.title);
    spec.examples = vec![Example {
        need: "Tell Bob on Telegram that I am late".to_owned(),
        args: json!({"to": "123456789", "text": "I will be ten minutes late."}),
    }];
    spec.risk = Risk::Safe;
    spec.effect = Effect::SideEffect;
    spec.reach = Reach::default();
    spec.permissions = vec![Permission::Network];
    spec.trust = Trust::Tool;
    spec.attempts = 1;
    spec.group = Some(SOURCE.to_owned());
    spec.config = vec![ConfigKey {
        key: ACCOUNT_KEY.to_owned(),
        description: "A chat channel; toolcrib channel add sets one up.".to_owned(),
        secret: false,
        required: true,
    }];
    spec
}

impl ChannelTools {
    /// Returns the account of this name; without one, the only account.
    fn account(&self, name: Option<&str>) -> Result<ChannelAccount, ChannelError> {
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            return self.accounts.find(name);
        }
        let all = self.accounts.list()?;
        match &all[..] {
            [only] => Ok(only.clone()),
            [] => self.accounts.find(""),
            all => {
                let names: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
                let text =
                    format!("There are several channels; pass channel: {}.", names.join(", "));
                Err(ChannelError::BadAccount(text))
            }
        }
    }

    /// Returns the account and the recipient of a draft.
    fn route(&self, channel: Option<&str>, to: &str) -> Result<(String, String), ChannelError> {
        let account = self.account(channel)?;
        let to = to.trim();
        let user = match chat_recipient(to) {
            Some((kind, user)) if kind == account.kind.as_str() => user,
            _ => to,
        };
        if !account.kind.is_user_id(user) {
            let text =
                format!("\"{}\" is not the id of a person at {}.", to.escape_debug(), account.kind);
            return Err(ChannelError::BadAccount(text));
        }
        let recipient = account.person(user);
        Ok((account.id, recipient))
    }
}

impl Tool for DraftMessage {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let (account, to) = self.0.route(args.channel.as_deref(), &args.to)?;
        let mut assessment = Assessment::from_spec(spec);
        let leaves = self.0.drafts.has_rule_for(DraftKind::Chat, std::slice::from_ref(&to));
        if leaves {
            assessment.effect = Effect::SideEffect;
            assessment.reach.outbound = true;
        }
        let what =
            if leaves { "send a message by your rule" } else { "write a draft of a message" };
        Ok(assessment.with_summary(format!("{what} to {to} from {account}")))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let tools = &self.0;
        let (account, to) = tools.route(args.channel.as_deref(), &args.to)?;
        let by_rule = tools.drafts.has_rule_for(DraftKind::Chat, std::slice::from_ref(&to));
        let writer = Writer {
            owner: ctx.context.owner.clone(),
            author: author_of(ctx),
            untrusted: untrusted_source(&tools.labels, ctx),
        };
        let replaces = args.draft_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        let draft = match replaces {
            Some(id) => {
                if tools.drafts.get(&writer.owner, id).await?.kind != DraftKind::Chat {
                    return Err(DraftError::Unknown(id.to_owned()).into());
                }
                let change = DraftChange {
                    account: Some(account),
                    to: Some(vec![to]),
                    body: Some(args.text),
                    ..DraftChange::default()
                };
                tools.drafts.rewrite(&writer, id, &change).await?
            }
            None => {
                let new = NewDraft {
                    kind: DraftKind::Chat,
                    account,
                    to: vec![to],
                    subject: String::new(),
                    body: args.text,
                    attachments: Vec::new(),
                    in_reply_to: None,
                    references: Vec::new(),
                    message_domain: DOMAIN.to_owned(),
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
}

fn answer(draft: &Draft) -> ToolOutput {
    let note = match draft.status {
        DraftStatus::Draft => {
            "Nothing was sent. The user sends the draft with `toolcrib draft send`, or discards it. Show them what it says. To change it, pass its draft_id."
        }
        DraftStatus::Sent => {
            "It was sent, because a rule of the user lets messages to this recipient leave."
        }
        _ => "It was not sent as it should be; tell the user.",
    };
    let mut answer = json!({
        "draft_id": draft.id,
        "status": draft.status.as_str(),
        "channel": draft.account,
        "to": draft.to,
        "note": note,
    });
    if let Some(problem) = &draft.note {
        answer["problem"] = json!(problem);
    }
    ToolOutput::structured(answer)
}
