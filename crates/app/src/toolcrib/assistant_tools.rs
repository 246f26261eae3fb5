//! The assistant's services of a Toolcrib, on its stores.

use std::sync::Arc;

use toolcrib_assistant::calendar::CalendarAccount;
use toolcrib_assistant::custom_instructions::CustomInstructions;
use toolcrib_assistant::document::{Documents, TextExtractor};
use toolcrib_assistant::goal::Goals;
use toolcrib_assistant::heartbeat::Heartbeats;
use toolcrib_assistant::list::Lists;
use toolcrib_assistant::memory::Memories;
use toolcrib_assistant::notify::Notifier;
use toolcrib_assistant::task::Tasks;
use toolcrib_assistant::{AssistantTools, LabelsOfRuns, SecretCheck};

use super::Toolcrib;
use super::from_settings::http_client;
use crate::document_files::DocumentFiles;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;
use crate::vault_secrets;

/// Creates the notifications of all owners.
pub(super) fn notifier(
    settings: &Settings,
    stores: &Stores,
    is_secret: &SecretCheck,
) -> Result<Notifier, SetupError> {
    Ok(Notifier::new(
        Arc::clone(&stores.notifications),
        http_client(settings)?,
        vault_secrets::notify_settings(settings)?,
        Arc::clone(is_secret),
    ))
}

/// Creates the tools of the assistant.
pub(super) fn assistant_tools(
    settings: &Settings,
    stores: &Stores,
    notifier: Notifier,
    files: Arc<DocumentFiles>,
    is_secret: &SecretCheck,
    labels: LabelsOfRuns,
) -> Result<AssistantTools, SetupError> {
    let account = vault_secrets::calendar_settings(settings)?;
    let client = account.is_some().then(|| http_client(settings)).transpose()?;
    Ok(AssistantTools {
        memories: Memories::new(Arc::clone(&stores.memories), Arc::clone(is_secret)),
        custom_instructions: CustomInstructions::new(
            Arc::clone(&stores.assistant_rows),
            Arc::clone(is_secret),
        ),
        tasks: Tasks::new(Arc::clone(&stores.tasks), Arc::clone(is_secret)),
        notifier,
        artifacts: Arc::clone(&stores.artifacts),
        goals: Goals::new(Arc::clone(&stores.assistant_rows), Arc::clone(is_secret)),
        lists: Lists::new(Arc::clone(&stores.assistant_rows), Arc::clone(is_secret)),
        documents: Documents::new(
            Arc::clone(&stores.assistant_rows),
            Arc::clone(&stores.document_chunks),
            Arc::clone(&files) as Arc<dyn TextExtractor>,
            Some(settings.state.join("documents")),
        ),
        calendar: client
            .zip(account)
            .map(|(client, account)| CalendarAccount::new(&client, account)),
        files,
        labels,
    })
}

impl Toolcrib {
    /// Returns the memories of all owners.
    #[must_use]
    pub fn memories(&self) -> &Memories {
        &self.assistant.memories
    }

    /// Returns the tasks of all owners.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.assistant.tasks
    }

    /// Returns the heartbeat.
    #[must_use]
    pub fn heartbeats(&self) -> &Heartbeats {
        &self.heartbeats
    }

    /// Returns the notifications of all owners.
    #[must_use]
    pub fn notifier(&self) -> &Notifier {
        &self.assistant.notifier
    }

    /// Returns the lists of all owners.
    #[must_use]
    pub fn lists(&self) -> &Lists {
        &self.assistant.lists
    }

    /// Returns the texts that people have in the system prompt.
    #[must_use]
    pub fn custom_instructions(&self) -> &CustomInstructions {
        &self.assistant.custom_instructions
    }

    /// Returns the goals of all owners.
    #[must_use]
    pub fn goals(&self) -> &Goals {
        &self.assistant.goals
    }

    /// Returns the documents of all owners.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.assistant.documents
    }
}
