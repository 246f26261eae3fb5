//! Files of documents: the assistant's traits on the readers of the built-in tools.

use toolcrib_assistant::WorkspaceFiles;
use toolcrib_assistant::document::{TextExtractor, TextWindow};
use toolcrib_builtins::document::DocumentText;
use toolcrib_core::{BoxFuture, CallCtx, ToolError};

/// Reads files of the workspace, and text out of files.
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
