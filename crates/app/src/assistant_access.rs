//! The parts of the assistant that a Toolcrib has.

use toolcrib_assistant::document::Documents;
use toolcrib_assistant::goal::Goals;
use toolcrib_assistant::list::Lists;
use toolcrib_assistant::memory::Memories;
use toolcrib_assistant::soul::Souls;
use toolcrib_assistant::task::Tasks;

use crate::toolcrib::Toolcrib;

impl Toolcrib {
    /// The memories of all owners.
    #[must_use]
    pub fn memories(&self) -> &Memories {
        &self.assistant.memories
    }

    /// The tasks of all owners.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.assistant.tasks
    }

    /// The lists of all owners.
    #[must_use]
    pub fn lists(&self) -> &Lists {
        &self.assistant.lists
    }

    /// The goals of all owners.
    #[must_use]
    pub fn goals(&self) -> &Goals {
        &self.assistant.goals
    }

    /// The documents of all owners.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.assistant.documents
    }

    /// The texts that people have in the system prompt.
    #[must_use]
    pub fn souls(&self) -> &Souls {
        &self.souls
    }
}
