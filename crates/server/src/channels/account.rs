//! An account with its state.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::{ChannelState, ChatChannels, ChatPerson};
use toolcrib_channels::account::ChannelAccount;
use toolcrib_channels::{Channel, ChannelError};
use toolcrib_core::{Clock as _, SystemClock};

use crate::run_supervisor::RunSupervisor;

/// The owner of the accounts.
pub(super) const OWNER: &str = "";
/// First wait after a message could not be sent; it doubles up to the longest.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// An account that is served.
pub(super) struct Account {
    pub(super) supervisor: RunSupervisor,
    pub(super) settings: ChannelAccount,
    pub(super) channel: Arc<dyn Channel>,
    /// Whether the requesting person may not decide.
    pub(super) four_eyes: bool,
    /// Notified when something was received.
    pub(super) received: Notify,
    /// People to whom nothing is sent before a time, with the number of failed attempts.
    pauses: Mutex<HashMap<String, (Instant, u32)>>,
}

impl Account {
    pub(super) fn new(
        supervisor: RunSupervisor,
        settings: ChannelAccount,
        channel: Arc<dyn Channel>,
        four_eyes: bool,
    ) -> Self {
        let (received, pauses) = (Notify::new(), Mutex::default());
        Self { supervisor, settings, channel, four_eyes, received, pauses }
    }

    pub(super) fn states(&self) -> ChatChannels {
        self.supervisor.toolcrib().chat_channels()
    }

    pub(super) async fn state(&self) -> Result<ChannelState, RowError> {
        self.states().get(OWNER, &self.settings.state_key()).await
    }

    /// Returns the state of a person; empty if there is none.
    pub(super) async fn person(&self, user: &str) -> Result<ChatPerson, RowError> {
        Ok(self.state().await?.people.remove(user).unwrap_or_default())
    }

    /// Changes the state of a person.
    pub(super) async fn change_person(
        &self,
        user: &str,
        change: impl Fn(&mut ChatPerson),
    ) -> Result<(), RowError> {
        self.change_and_log(user, None, change).await
    }

    /// Changes the state of a person, and adds an event to the log.
    pub(super) async fn change_and_log(
        &self,
        user: &str,
        event: Option<&str>,
        change: impl Fn(&mut ChatPerson),
    ) -> Result<(), RowError> {
        let now = SystemClock.now_ms();
        let change = |state: &mut ChannelState| {
            if let Some(person) = state.people.get_mut(user) {
                change(person);
            }
            if let Some(event) = event {
                state.log(now, user, event);
            }
        };
        self.states().change(OWNER, &self.settings.state_key(), change).await
    }

    /// Returns the name of a person in records.
    pub(super) fn record_name(&self, user: &str) -> String {
        self.settings.person(user)
    }

    /// Checks that no others would read what is sent to a room.
    ///
    /// # Errors
    /// [`ChannelError::Blocked`] if there are others, and errors of the service.
    pub(super) async fn require_private(&self, room: &str) -> Result<(), ChannelError> {
        if self.channel.is_private(room).await? {
            return Ok(());
        }
        let service = self.channel.kind().to_string();
        Err(ChannelError::Blocked { service, reason: "others are in this room".to_owned() })
    }

    /// Returns whether nothing is sent to a person now.
    pub(super) fn is_paused(&self, user: &str) -> bool {
        let pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.get(user).is_some_and(|(until, _)| *until > Instant::now())
    }

    /// Sends nothing to a person for a while, because of this error.
    pub(super) fn pause(&self, user: &str, error: &ChannelError) {
        let mut pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = pauses.get(user).map_or(0, |(_, failures)| *failures);
        let wait = match error {
            ChannelError::Wait { wait, .. } => *wait,
            _ => RETRY.saturating_mul(1 << failures.min(10)).min(LONGEST_RETRY),
        };
        pauses.insert(user.to_owned(), (Instant::now() + wait, failures.saturating_add(1)));
    }

    /// Notes that something was sent to a person.
    pub(super) fn end_pause(&self, user: &str) {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner).remove(user);
    }
}
