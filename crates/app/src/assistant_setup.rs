//! The parts of the assistant on the stores of a Toolcrib.

use std::path::Path;
use std::sync::Arc;

use toolcrib_assistant::document::{Documents, TextExtractor};
use toolcrib_assistant::goal::Goals;
use toolcrib_assistant::list::Lists;
use toolcrib_assistant::memory::Memories;
use toolcrib_assistant::soul::Souls;
use toolcrib_assistant::task::Tasks;
use toolcrib_assistant::{AssistantTools, LabelsOfRuns, SecretCheck};
use toolcrib_builtins::document::DocumentText;

use crate::document_files::DocumentFiles;
use crate::stores::Stores;

/// What the tools of the assistant work on, and the texts that people have in the system prompt.
pub(crate) fn assistant_tools(
    stores: &Stores,
    state: &Path,
    text: DocumentText,
    is_secret: SecretCheck,
    labels: LabelsOfRuns,
) -> (AssistantTools, Souls) {
    let files = Arc::new(DocumentFiles(text));
    let rows = || Arc::clone(&stores.assistant_rows);
    let secrets = || Arc::clone(&is_secret);
    let tools = AssistantTools {
        memories: Memories::new(Arc::clone(&stores.memories), secrets()),
        tasks: Tasks::new(Arc::clone(&stores.tasks), secrets()),
        goals: Goals::new(rows(), secrets()),
        lists: Lists::new(rows(), secrets()),
        documents: Documents::new(
            rows(),
            Arc::clone(&stores.document_chunks),
            Arc::clone(&files) as Arc<dyn TextExtractor>,
            Some(state.join("documents")),
        ),
        files,
        labels,
    };
    (tools, Souls::new(rows(), secrets()))
}
