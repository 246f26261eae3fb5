//! Files of a mail that was read, stored as artifacts: untrusted, and named in the result.

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{ArtifactStore, CallCtx, StoreError, Trust};

use crate::account::MailAccount;
use crate::message::File;

/// What every file of one mail has in common.
pub(super) fn origin(ctx: &CallCtx, account: &MailAccount) -> NewArtifact {
    NewArtifact {
        owner: ctx.context.owner.clone(),
        media_type: String::new(),
        trust: Trust::External,
        source: Some(format!("mail of {}", account.address)),
        call: ctx.call,
        run: ctx.run,
        conversation: ctx.context.conversation.clone(),
    }
}

/// Stores the files of a mail and writes their references into the list. A file that is larger than
/// an artifact may be has none.
///
/// # Errors
/// [`StoreError`] if a file cannot be stored; those before it are.
pub(super) fn keep_files(
    artifacts: &dyn ArtifactStore,
    origin: &NewArtifact,
    files: &mut [File],
    contents: Vec<Vec<u8>>,
) -> Result<(), StoreError> {
    for (file, bytes) in files.iter_mut().zip(contents) {
        let media_type = media_type(&file.media_type);
        let source = Some(file.name.clone());
        let mut writer = artifacts.create(NewArtifact { media_type, source, ..origin.clone() })?;
        writer.write(&bytes)?;
        let meta = writer.finish()?;
        if meta.bytes == meta.total_bytes {
            file.artifact = Some(meta.artifact.to_string());
        }
    }
    Ok(())
}

/// The media type that the sender names, if it is one.
fn media_type(named: &str) -> String {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let is_good = named.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub));
    if is_good { named.to_ascii_lowercase() } else { "application/octet-stream".to_owned() }
}
