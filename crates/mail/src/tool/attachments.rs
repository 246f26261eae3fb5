//! Files that go with a draft: stored as they are now, so that what a person reads is what leaves.

use std::sync::Arc;

use toolcrib_assistant::draft::DraftAttachment;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{ArtifactRef, CallCtx, ToolError, Trust};

use super::mail_tools::MailTools;
use crate::carrier::MAX_FILES;

/// Most files of one draft.
const MAX_COUNT: usize = 20;

/// The files of a draft: each a stored result (`art_…`) or a path of the workspace.
pub(super) async fn attachments(
    tools: &MailTools,
    ctx: &CallCtx,
    named: &[String],
) -> Result<Vec<DraftAttachment>, ToolError> {
    if named.len() > MAX_COUNT {
        return Err(ToolError::validation(format!("A mail has at most {MAX_COUNT} files.")));
    }
    let mut files = Vec::new();
    for name in named {
        files.push(match name.trim() {
            name if name.starts_with("art_") => stored(tools, ctx, name).await?,
            path => from_workspace(tools, ctx, path).await?,
        });
    }
    if files.iter().map(|file| file.bytes).sum::<u64>() > MAX_FILES {
        return Err(ToolError::validation(format!(
            "The files of a mail have at most {} MB together.",
            MAX_FILES >> 20
        )));
    }
    Ok(files)
}

async fn stored(
    tools: &MailTools,
    ctx: &CallCtx,
    name: &str,
) -> Result<DraftAttachment, ToolError> {
    let artifact = ArtifactRef(name.to_owned());
    let missing = || ToolError::validation(format!("There is no stored result {name}."));
    if !artifact.is_well_formed() {
        return Err(missing());
    }
    let (artifacts, owner) = (Arc::clone(&tools.artifacts), ctx.context.owner.clone());
    let meta = tokio::task::spawn_blocking(move || artifacts.meta(&artifact, &owner)).await;
    let meta = meta.ok().and_then(Result::ok).flatten().ok_or_else(missing)?;
    let source = meta.source.as_deref().and_then(file_name);
    Ok(DraftAttachment {
        name: source.unwrap_or_else(|| name.to_owned()),
        media_type: meta.media_type,
        artifact: meta.artifact.to_string(),
        bytes: meta.bytes,
    })
}

async fn from_workspace(
    tools: &MailTools,
    ctx: &CallCtx,
    path: &str,
) -> Result<DraftAttachment, ToolError> {
    let bytes = tools.files.read(ctx, path).await?;
    let media_type = "application/octet-stream".to_owned();
    let new = NewArtifact {
        owner: ctx.context.owner.clone(),
        media_type: media_type.clone(),
        trust: Trust::Workspace,
        source: Some(path.to_owned()),
        call: ctx.call,
        run: ctx.run,
        conversation: ctx.context.conversation.clone(),
    };
    let artifacts = Arc::clone(&tools.artifacts);
    let written = tokio::task::spawn_blocking(move || {
        let mut writer = artifacts.create(new)?;
        writer.write(&bytes)?;
        writer.finish()
    });
    let failed = |detail: String| {
        ToolError::execution("The file could not be stored for the mail. Try again later.")
            .with_detail(detail)
    };
    let written = written.await.map_err(|error| failed(error.to_string()))?;
    let meta = written.map_err(|error| failed(error.to_string()))?;
    if meta.bytes < meta.total_bytes {
        return Err(ToolError::validation("The file is too large for a mail."));
    }
    Ok(DraftAttachment {
        name: file_name(path).unwrap_or_else(|| "file".to_owned()),
        media_type,
        artifact: meta.artifact.to_string(),
        bytes: meta.bytes,
    })
}

fn file_name(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?;
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '"').take(120).collect();
    Some(name).filter(|name| !name.is_empty())
}
