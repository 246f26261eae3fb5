//! `toolcrib notification`: notifications of the person, with failed deliveries.

use serde_json::json;
use toolcrib_ops::OpContext;
use toolcrib_ops::notifications::{
    self, DismissNotificationRequest, ListNotificationsRequest, NotificationReply,
    SendNotificationRequest,
};

use crate::clap_args::{Notification, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

pub(crate) fn run(command: Notification, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Notification::List { all } => list(&ctx, all, json).await,
            Notification::Send { message, title, urgency } => {
                let title = title.unwrap_or_default();
                let new = SendNotificationRequest { title, message, urgency, tag: None };
                send(&ctx, new, json).await
            }
            Notification::Dismiss { id, .. } => dismiss(&ctx, id, json).await,
        }
    })
}

async fn list(ctx: &OpContext<'_>, all: bool, json: bool) -> Result<u8, Failure> {
    let rows = notifications::list(ctx, ListNotificationsRequest { only_open: !all }).await?;
    if json {
        output::print_json(&json!(rows), true)?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::eprint_line("toolcrib: no notifications");
        return Ok(0);
    }
    let text: Vec<String> = rows.iter().map(row_text).collect();
    output::print_line(&text.join("\n"))?;
    Ok(0)
}

async fn send(
    ctx: &OpContext<'_>,
    new: SendNotificationRequest,
    json: bool,
) -> Result<u8, Failure> {
    let sent = notifications::send(ctx, new).await?;
    if json {
        output::print_json(&json!(sent), true)?;
        return Ok(0);
    }
    output::print_line(&row_text(&sent.notification))?;
    if let Some(end) = &sent.quiet_until {
        output::eprint_line(&format!(
            "toolcrib: not pushed because of the quiet hours until {end}"
        ));
    }
    Ok(0)
}

async fn dismiss(ctx: &OpContext<'_>, id: Option<String>, json: bool) -> Result<u8, Failure> {
    let request = id.map_or(DismissNotificationRequest::All, DismissNotificationRequest::One);
    let dismissed = notifications::dismiss(ctx, request).await?;
    if json {
        output::print_json(&json!(dismissed), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} dismissed", dismissed.len()));
    }
    Ok(0)
}

fn row_text(row: &NotificationReply) -> String {
    let mut text = format!(
        "{}  {}  {}\n    {}\n",
        row.notification,
        time_format::format_local(row.created_at),
        terminal::escape_to_line(row.title.as_deref().unwrap_or_default()),
        terminal::escape_to_line(row.message.as_deref().unwrap_or_default()),
    );
    if let Some(link) = &row.link {
        text += &format!("    {}\n", terminal::escape_to_line(link));
    }
    if let Some(source) = &row.untrusted {
        let source = terminal::escape_to_line(source);
        text += &format!("    sent by a run that has read untrusted text ({source})\n");
    }
    if !row.delivered.is_empty() {
        text += &format!("    delivered: {}\n", row.delivered.join(", "));
    }
    for one in &row.failed {
        let reason = terminal::escape_to_line(&one.reason);
        text += &format!("    not delivered: {}: {reason}\n", one.channel);
    }
    text
}
