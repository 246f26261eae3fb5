//! Files of documents: implements the assistant's traits with the readers of the built-in tools.

use std::sync::Weak;

use toolcrib_assistant::WorkspaceFiles;
use toolcrib_assistant::document::{Documents, TextExtractor, TextWindow};
use toolcrib_builtins::document::DocumentText;
use toolcrib_builtins::{DocumentPart, StoredDocuments};
use toolcrib_core::{BoxFuture, CallCtx, Catalog, ErrorType, ToolError};

/// A caller with this tool in view may read documents.
const DOCUMENT: &str = "document";

/// Reads files of the workspace, and extracts text from files.
pub(crate) struct DocumentFiles(pub(crate) DocumentText);

impl TextExtractor for DocumentFiles {
    fn extract<'a>(
        &'a self,
        name: &'a str,
        bytes: &'a [u8],
        first_part: u32,
    ) -> BoxFuture<'a, Result<TextWindow, ToolError>> {
        Box::pin(async move {
            let window = self.0.window(name, bytes, first_part).await?;
            let has_parts = window.unit.is_some();
            let number = |number: u32| if has_parts { number } else { 0 };
            Ok(TextWindow {
                format: window.format.to_owned(),
                unit: window.unit.unwrap_or_default().to_owned(),
                count: if has_parts { window.count } else { 0 },
                parts: window.parts.into_iter().map(|(n, text)| (number(n), text)).collect(),
                next: window.next,
                problem: window.problem,
            })
        })
    }
}

impl WorkspaceFiles for DocumentFiles {
    fn read<'a>(
        &'a self,
        ctx: &'a CallCtx,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        Box::pin(self.0.read_file(ctx, path))
    }
}

/// The documents that people have added, for callers that have the tool for them.
pub(crate) struct ReadableDocuments {
    pub(crate) documents: Documents,
    /// Weak, because the catalog owns the tool that owns this value.
    pub(crate) catalog: Weak<dyn Catalog>,
}

impl StoredDocuments for ReadableDocuments {
    fn read<'a>(
        &'a self,
        ctx: &'a CallCtx,
        part: DocumentPart<'a>,
    ) -> BoxFuture<'a, Result<toolcrib_builtins::DocumentText, ToolError>> {
        Box::pin(async move {
            let catalog = self.catalog.upgrade();
            if catalog.is_none_or(|all| all.view(&ctx.view).find(DOCUMENT).is_none()) {
                return Err(ToolError::new(
                    ErrorType::ToolNotAvailable,
                    "Documents are switched off here, so none can be read.",
                ));
            }
            let DocumentPart { document, page, offset, max_chars } = part;
            let owner = &ctx.context.owner;
            let view = self.documents.view(owner, document, page, offset, max_chars).await?;
            Ok(toolcrib_builtins::DocumentText {
                name: view.document.name,
                format: view.document.format,
                text: view.text,
                next: view.next,
                untrusted: view.document.untrusted,
            })
        })
    }
}
