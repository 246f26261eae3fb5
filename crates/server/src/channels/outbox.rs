//! Sends the texts of a person's outbox in order.
//!
//! A text is removed after the service has accepted it: a daemon that is killed in between sends it
//! again, under the same key, by which Matrix recognizes it. A repeated answer is better than a
//! lost one.

use toolcrib_assistant::RowError;
use toolcrib_channels::split_text;

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
            match account.channel.send_text(&person.room, part, &key).await {
                Ok(_) => {
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
                    return drop_all(account, user, &error.to_string()).await;
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

/// Removes texts that cannot be delivered: the person has blocked the account, for example.
async fn drop_all(account: &Account, user: &str, why: &str) -> Result<(), RowError> {
    let event = format!("texts were not delivered: {why}");
    account.change_and_log(user, Some(&event), |person| person.outbox.clear()).await
}
