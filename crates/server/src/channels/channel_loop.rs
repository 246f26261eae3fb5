//! Starts and stops a task for each account, so that they match the file of accounts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use toolcrib_app::StateChanges;
use toolcrib_channels::account::ChannelAccount;

use super::account::Account;
use super::{answer, receive};
use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the file of accounts.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time: the folder of the configuration may not be watched.
const LONGEST: Duration = Duration::from_secs(10);
/// Time for what is being sent when the daemon stops.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves all accounts until the daemon is told to stop.
pub(crate) async fn run_channels(
    supervisor: &RunSupervisor,
    mut changes: StateChanges,
    four_eyes: bool,
) {
    let mut tasks = JoinSet::new();
    let mut served: HashMap<String, (ChannelAccount, AbortHandle)> = HashMap::new();
    loop {
        match supervisor.toolcrib().channel_accounts().list() {
            Ok(mut accounts) => {
                accounts.retain(|account| account.enabled);
                follow(supervisor, four_eyes, &accounts, (&mut served, &mut tasks));
            }
            Err(error) => tracing::warn!(%error, "the channels could not be read"),
        }
        while tasks.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            () = changes.next_within(LOOK, LONGEST) => {}
        }
    }
    let ended = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_WORDS, ended).await;
}

fn follow(
    supervisor: &RunSupervisor,
    four_eyes: bool,
    accounts: &[ChannelAccount],
    (served, tasks): (&mut HashMap<String, (ChannelAccount, AbortHandle)>, &mut JoinSet<()>),
) {
    served.retain(|_, (account, handle)| {
        let stays = accounts.contains(account) && !handle.is_finished();
        if !stays {
            handle.abort();
        }
        stays
    });
    for settings in accounts {
        if served.contains_key(&settings.id) {
            continue;
        }
        let channel = match supervisor.toolcrib().channel_accounts().open(settings) {
            Ok(channel) => channel,
            Err(error) => {
                tracing::warn!(channel = settings.id, %error, "a channel cannot be used");
                continue;
            }
        };
        let account = Account::new(supervisor.clone(), settings.clone(), channel, four_eyes);
        let account = Arc::new(account);
        let handle = tasks.spawn(async move {
            tokio::join!(receive::receive(&account), answer::answer(&account));
        });
        served.insert(settings.id.clone(), (settings.clone(), handle));
    }
}
