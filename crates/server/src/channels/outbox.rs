//! Sends the texts of a person's outbox in order.
//!
//! A text is removed after the service has accepted it: a daemon that is killed in between sends it
//! again, under the same key, by which Matrix recognizes it. A repeated answer is better than a
//! lost one.
//!
//! Nothing of a conversation is sent to a room that others have joined since.

use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::{ChatPerson, OutgoingText};
use toolcrib_channels::{ChannelError, split_text};

use super::account::Account;

pub(super) async fn send(account: &Account, user: &str) -> Result<(), RowError> {
    let person = account.person(user).await?;
    for text in &person.outbox {
        let parts = split_text(&text.text, account.channel.max_chars());
        for (at, part) in parts.iter().enumerate().skip(text.sent) {
            if account.is_paused(user) {
                return Ok(());
            }
            let key = format!("{}-{at}", text.key);
            match send_part(account, text, part, &key).await {
                Ok(()) => {
                    account.end_pause(user);
                    let sent = at + 1;
                    let is_it = |key: &str| key == text.key;
                    account
                        .change_person(user, |person| {
                            let found = person.outbox.iter_mut().find(|one| is_it(&one.key));
                            if let Some(found) = found {
                                found.sent = sent;
                            }
                        })
                        .await?;
                }
                Err(error) if error.is_passing() => {
                    account.pause(user, &error);
                    return Ok(());
                }
                Err(error) => {
                    tracing::warn!(channel = account.settings.id, %error, "a text was not sent");
                    return drop_texts(account, user, &text.room, &error.to_string()).await;
                }
            }
        }
        account
            .change_and_log(user, Some("text sent"), |person| {
                person.outbox.retain(|one| one.key != text.key);
            })
            .await?;
    }
    Ok(())
}

async fn send_part(
    account: &Account,
    text: &OutgoingText,
    part: &str,
    key: &str,
) -> Result<(), ChannelError> {
    if !text.is_public {
        account.require_private(&text.room).await?;
    }
    account.channel.send_text(&text.room, part, key).await.map(drop)
}

/// Removes the texts for a room to which they cannot be delivered: the person has blocked the
/// account, for example.
async fn drop_texts(account: &Account, user: &str, room: &str, why: &str) -> Result<(), RowError> {
    let event = format!("texts were not delivered: {why}");
    let keep = |person: &mut ChatPerson| person.outbox.retain(|text| text.room != room);
    account.change_and_log(user, Some(&event), keep).await
}
