//! Sends, lists and dismisses notifications.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use toolcrib_core::{
    Author, Clock, FailedDelivery, Notification, NotificationId, NotificationStore, StoreError,
    SystemClock, Urgency,
};
use toolcrib_net::HttpClient;

use super::error::NotifyError;
use super::own_mail::{self, OwnMail};
use super::settings::NotifySettings;
use super::{desktop, http_channels};
use crate::SecretCheck;

/// Maximum characters of a title.
pub const MAX_TITLE_CHARS: usize = 100;
/// Maximum characters of a message: desktops and phones show less.
pub const MAX_MESSAGE_CHARS: usize = 1_000;
/// Title of a notification that has none.
const DEFAULT_TITLE: &str = "Toolcrib";
/// The period in which notifications of models are counted, in milliseconds.
const HOUR_MS: i64 = 3_600_000;

/// A notification to send.
#[derive(Debug, Clone, Default)]
pub struct NewNotification {
    /// The id of the event that it tells of ([`NotificationId::for_event`]), so that it is sent
    /// once; `None` = a notification of its own.
    pub id: Option<NotificationId>,
    /// Owner.
    pub owner: String,
    /// Title; empty for "Toolcrib".
    pub title: String,
    /// The message.
    pub message: String,
    /// How much it wants attention.
    pub urgency: Urgency,
    /// It replaces an earlier one with this tag.
    pub tag: Option<String>,
    /// An address to open.
    pub link: Option<String>,
    /// The source of its text, if the text is untrusted.
    pub untrusted: Option<String>,
    /// The author. If it is a call, the hourly maximum applies.
    pub author: Author,
    /// Whether it is pushed in quiet hours too: an alarm that the person set. The urgency, which a
    /// model chooses, does not break them.
    pub is_alarm: bool,
}

/// A stored notification, and the result of pushing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The notification with its deliveries.
    pub notification: Notification,
    /// The end of the quiet hours, if nothing was pushed because of them.
    pub quiet_until: Option<Time>,
}

/// The notifications of all owners. Clones share them.
#[derive(Clone)]
pub struct Notifier {
    store: Arc<dyn NotificationStore>,
    client: HttpClient,
    settings: Arc<NotifySettings>,
    mail: Arc<OnceLock<Arc<dyn OwnMail>>>,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
    is_secret: SecretCheck,
}

impl Notifier {
    /// Creates notifications in this store, with these channels.
    #[must_use]
    pub fn new(
        store: Arc<dyn NotificationStore>,
        client: HttpClient,
        settings: NotifySettings,
        is_secret: SecretCheck,
    ) -> Self {
        let (settings, clock) = (Arc::new(settings), Arc::new(SystemClock));
        let (mail, zone) = (Arc::default(), TimeZone::system());
        Self { store, client, settings, mail, clock, zone, is_secret }
    }

    /// Sets another clock, and the time zone of its quiet hours.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>, zone: TimeZone) -> Self {
        (self.clock, self.zone) = (clock, zone);
        self
    }

    /// Sets the sender of mail, once, for all clones.
    pub fn set_mail(&self, mail: Arc<dyn OwnMail>) {
        self.mail.set(mail).ok();
    }

    /// Stores a notification and pushes it. A channel that fails does not fail the notification:
    /// [`Sent`] names it.
    ///
    /// # Errors
    /// [`NotifyError`] if it cannot be sent at all.
    pub async fn send(&self, new: NewNotification) -> Result<Sent, NotifyError> {
        let now = self.clock.now_ms();
        let mut notification = self.check(new.clone(), now)?;
        if new.author.call.is_some() {
            self.check_rate(&new.owner, now).await?;
        }
        match self.store.add_notification(notification.clone()).await {
            Ok(()) => {}
            // Another daemon told of the event, or this one did before a crash.
            Err(StoreError::Conflict(_)) if new.id.is_some() => {
                return Ok(Sent { notification, quiet_until: None });
            }
            Err(error) => return Err(error.into()),
        }
        let quiet_until = if new.is_alarm { None } else { self.quiet_until(now) };
        if quiet_until.is_none() {
            self.push(&mut notification).await;
            match self.store.put_notification(notification.clone()).await {
                // A newer one replaced it meanwhile.
                Ok(()) | Err(StoreError::Missing(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Sent { notification, quiet_until })
    }

    fn check(&self, new: NewNotification, now: i64) -> Result<Notification, NotifyError> {
        let title = match new.title.trim() {
            "" => DEFAULT_TITLE,
            title => title,
        };
        let message = new.message.trim();
        let length = message.chars().count();
        let is_good = (1..=MAX_MESSAGE_CHARS).contains(&length)
            && title.chars().count() <= MAX_TITLE_CHARS
            && !title.chars().any(char::is_control)
            && !message.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
        if !is_good {
            return Err(NotifyError::BadText);
        }
        if (self.is_secret)(title) || (self.is_secret)(message) {
            return Err(NotifyError::Secret);
        }
        Ok(Notification {
            id: new.id.unwrap_or_else(NotificationId::fresh),
            title: title.to_owned(),
            message: message.to_owned(),
            owner: new.owner,
            urgency: new.urgency,
            tag: new.tag,
            link: new.link,
            untrusted: new.untrusted,
            author: new.author,
            created_at: now,
            delivered: Vec::new(),
            failed: Vec::new(),
            dismissed_at: None,
        })
    }

    /// Counts the notifications that calls sent in the last hour.
    async fn check_rate(&self, owner: &str, now: i64) -> Result<(), NotifyError> {
        let all = self.store.notifications(owner).await?;
        let is_counted =
            |one: &&Notification| one.author.call.is_some() && one.created_at > now - HOUR_MS;
        let mut times: Vec<i64> = all.iter().filter(is_counted).map(|one| one.created_at).collect();
        times.sort_unstable();
        let max = self.settings.max_per_hour;
        let over = (times.len() + 1).saturating_sub(usize::try_from(max).unwrap_or(usize::MAX));
        match over.checked_sub(1) {
            None => Ok(()),
            Some(last) => {
                let free_at = times.get(last).map_or(now, |at| at + HOUR_MS);
                let minutes = (free_at - now).max(0) / 60_000 + 1;
                Err(NotifyError::TooMany { max, minutes })
            }
        }
    }

    fn quiet_until(&self, now: i64) -> Option<Time> {
        let now = Timestamp::from_millisecond(now).ok()?;
        self.settings.quiet?.until(self.zone.to_datetime(now))
    }

    /// Pushes to all channels at the same time.
    async fn push(&self, notification: &mut Notification) {
        let settings = &self.settings;
        let (desktop, ntfy, webhook, mail) = tokio::join!(
            async { Some(desktop::show(settings.desktop.as_ref()?, notification).await) },
            async {
                Some(http_channels::ntfy(&self.client, settings.ntfy.as_ref()?, notification).await)
            },
            async {
                let webhook = settings.webhook.as_ref()?;
                Some(http_channels::webhook(&self.client, webhook, notification).await)
            },
            self.mail(notification),
        );
        let channels = [("desktop", desktop), ("ntfy", ntfy), ("webhook", webhook), ("mail", mail)];
        for (channel, result) in channels {
            let channel = channel.to_owned();
            match result {
                None => {}
                Some(Ok(())) => notification.delivered.push(channel),
                Some(Err(reason)) => notification.failed.push(FailedDelivery { channel, reason }),
            }
        }
    }

    /// Mails a notification. The accounts are those of the owner of this machine.
    async fn mail(&self, notification: &Notification) -> Option<Result<(), String>> {
        let settings = self.settings.mail.as_ref()?;
        let mail = self.mail.get().filter(|_| notification.owner.is_empty())?;
        let sent = mail.send(settings.account.as_deref(), notification);
        let sent = tokio::time::timeout(own_mail::TIMEOUT, sent).await;
        let late = format!("no answer within {} s", own_mail::TIMEOUT.as_secs());
        Some(sent.unwrap_or(Err(late)))
    }

    /// Lists the notifications of an owner, newest first.
    ///
    /// # Errors
    /// [`NotifyError::Store`].
    pub async fn list(&self, owner: &str) -> Result<Vec<Notification>, NotifyError> {
        Ok(self.store.notifications(owner).await?)
    }

    /// Returns the notifications of every owner since a time, oldest first.
    ///
    /// # Errors
    /// [`NotifyError::Store`].
    pub async fn since(&self, since: i64, limit: usize) -> Result<Vec<Notification>, NotifyError> {
        Ok(self.store.notifications_since(since, limit).await?)
    }

    /// Marks the notifications with a tag as dismissed.
    ///
    /// # Errors
    /// [`NotifyError::Store`].
    pub async fn dismiss_tag(&self, owner: &str, tag: &str) -> Result<(), NotifyError> {
        for one in self.list(owner).await? {
            if one.tag.as_deref() == Some(tag) && one.dismissed_at.is_none() {
                self.dismiss(owner, one.id).await?;
            }
        }
        Ok(())
    }

    /// Marks a notification as dismissed.
    ///
    /// # Errors
    /// [`NotifyError::Unknown`], [`NotifyError::Store`].
    pub async fn dismiss(
        &self,
        owner: &str,
        id: NotificationId,
    ) -> Result<Notification, NotifyError> {
        let found = self.store.notification(id).await?.filter(|one| one.owner == owner);
        let found = found.ok_or_else(|| NotifyError::Unknown(id.to_string()))?;
        let dismissed_at = found.dismissed_at.or(Some(self.clock.now_ms()));
        let dismissed = Notification { dismissed_at, ..found };
        self.store.put_notification(dismissed.clone()).await?;
        Ok(dismissed)
    }
}
