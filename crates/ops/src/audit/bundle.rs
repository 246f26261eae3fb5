//! Writes the audit as a bundle that an auditor verifies without Toolcrib.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::{ANCHORS_FILE, Toolcrib};
use toolcrib_audit::{
    AnchorFile, AuditKey, BundleContents, BundleExport, FORMER_KEYS_FILE, OTHER_KEYS_FILE,
    PUBLIC_KEY_FILE, TrustedKeys,
};
use toolcrib_core::canonical_json;

use crate::administration::{Act, Recorder};
use crate::context::OpContext;
use crate::error::OpError;

/// Additional content of the bundle, besides the audit of the store.
#[derive(Debug, Clone, Default)]
pub struct BundleRequest {
    /// Further public keys, one per line: the keys of other daemons that write this store.
    pub more_keys: String,
}

/// Starts a bundle of the whole audit: signs the newest record, collects keys, anchors, rules and
/// tool definitions, and lists the chains. The caller takes the bytes from the reply. A rule or
/// definition that contains a known secret is left out.
///
/// # Errors
/// [`OpError::Store`]; [`OpError::Invalid`] if `more_keys` contains anything other than keys;
/// [`OpError::Internal`] if the key or the anchors cannot be read; [`OpError::Unrecorded`].
pub async fn bundle<'a>(
    ctx: &OpContext<'a>,
    recorder: &Recorder<'_>,
    request: BundleRequest,
) -> Result<BundleExport<'a>, OpError> {
    recorder.record(Act::new("audit.bundle", "")).await?;
    let folder = ctx.toolcrib.state_folder().join("audit");
    let signer = AuditKey::open(&folder).map_err(|error| OpError::Internal(error.to_string()))?;
    let audit = &*ctx.store.stores.audit;
    audit.checkpoint_now().await?;
    let contents = BundleContents {
        keys: public_keys(&folder, request.more_keys)?,
        // Read the anchors before the chains are listed: newer anchors would be ahead of the
        // records.
        anchors: anchors(&folder.join(ANCHORS_FILE))?,
        rules: rules(ctx.toolcrib),
        tools: tools(ctx.toolcrib),
    };
    Ok(BundleExport::new(audit, Arc::new(signer), contents).await?)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> OpError {
    OpError::Internal(format!("{} cannot be read: {error}", path.display()))
}

fn public_keys(folder: &Path, more: String) -> Result<String, OpError> {
    if !more.trim().is_empty() {
        TrustedKeys::parse(&more).map_err(|error| OpError::Invalid(error.to_string()))?;
    }
    let mut keys: Vec<String> = Vec::new();
    for name in [PUBLIC_KEY_FILE, FORMER_KEYS_FILE, OTHER_KEYS_FILE] {
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => keys.push(text),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    keys.push(more);
    let lines = keys.iter().flat_map(|text| text.lines()).map(str::trim);
    Ok(lines.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect())
}

fn anchors(path: &Path) -> Result<AnchorFile, OpError> {
    match AnchorFile::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(AnchorFile::default()),
        read => read.map_err(|error| unreadable(path, &error)),
    }
}

/// Returns each rule with its layer and its position.
fn rules(toolcrib: &Toolcrib) -> Vec<String> {
    let with_place = |rule: &toolcrib_app::rules::RuleSource| json!({"layer": rule.layer, "origin": rule.origin, "rule": rule.text});
    without_secrets(toolcrib, toolcrib.rules().sources().iter().map(with_place))
}

/// Returns each definition in the form that its hash covers.
fn tools(toolcrib: &Toolcrib) -> Vec<String> {
    let specs = toolcrib.infos().into_iter().filter_map(|info| toolcrib.spec(info.id.as_str()));
    without_secrets(toolcrib, specs.filter_map(|spec| serde_json::to_value(&*spec).ok()))
}

fn without_secrets(toolcrib: &Toolcrib, values: impl Iterator<Item = Value>) -> Vec<String> {
    let secrets = &toolcrib.engine().sealing().secrets;
    let texts = values.map(|value| canonical_json::to_string(&value));
    texts.filter(|text| !secrets.occurs_in(text)).collect()
}
