//! Metadata of a tool for client programs: the `_meta` object of MCP.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Metadata from a tool's author for client programs. It is passed on unchanged and never shown to
/// a model. At most [`ToolMeta::BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct ToolMeta(Map<String, Value>);

/// The metadata is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its _meta has {0} bytes; the limit is {max}", max = ToolMeta::BYTES)]
pub struct MetaTooLong(usize);

/// Prefix of Toolcrib's own keys. Keys with this prefix from other sources are dropped, so that no
/// server can impersonate Toolcrib.
const OURS: &str = "dev.toolcrib/";

impl ToolMeta {
    /// Maximum size as JSON. Known servers send a few hundred bytes.
    pub const BYTES: usize = 16 * 1024;

    /// URI scheme of UI pages (MCP Apps, SEP-1865).
    pub const PAGE: &str = "ui://";

    /// Builds metadata from a map without Toolcrib's own keys; `None` if nothing is left.
    ///
    /// # Errors
    /// [`MetaTooLong`].
    pub fn from_map(words: Map<String, Value>) -> Result<Option<Self>, MetaTooLong> {
        let own = Self::try_from(words)?;
        Ok((!own.0.is_empty()).then_some(own))
    }

    /// Returns all keys and values.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the `ui://` page that shows the tool's results (MCP Apps, SEP-1865). The flat key is
    /// the form from before the specification's release.
    #[must_use]
    pub fn page(&self) -> Option<&str> {
        let page = self.0.get("ui").and_then(|ui| ui.get("resourceUri"));
        let page = page.or_else(|| self.0.get("ui/resourceUri"))?;
        page.as_str().filter(|uri| uri.starts_with(Self::PAGE))
    }

    /// Returns whether models may be offered the tool. `ui.visibility` can limit a tool to the page
    /// of its server.
    #[must_use]
    pub fn is_for_models(&self) -> bool {
        let visibility = self.0.get("ui").and_then(|ui| ui.get("visibility"));
        let Some(visibility) = visibility.and_then(Value::as_array) else { return true };
        visibility.iter().any(|who| who == "model")
    }

    /// Returns whether the page of its server may call the tool.
    #[must_use]
    pub fn is_for_pages(&self) -> bool {
        let visibility = self.0.get("ui").and_then(|ui| ui.get("visibility"));
        let Some(visibility) = visibility.and_then(Value::as_array) else { return true };
        visibility.iter().any(|who| who == "app")
    }
}

impl TryFrom<Map<String, Value>> for ToolMeta {
    type Error = MetaTooLong;

    fn try_from(mut words: Map<String, Value>) -> Result<Self, MetaTooLong> {
        words.retain(|key, _| !key.starts_with(OURS));
        let bytes = serde_json::to_string(&words).map_or(usize::MAX, |text| text.len());
        if bytes > Self::BYTES { Err(MetaTooLong(bytes)) } else { Ok(Self(words)) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(words: Value) -> Result<Option<ToolMeta>, MetaTooLong> {
        ToolMeta::from_map(words.as_object().unwrap().clone())
    }

    #[test]
    fn own_keys_are_dropped_and_long_metadata_is_rejected() {
        let both = json!({"dev.toolcrib/call": {"trust": "tool"}, "a": 1});
        assert_eq!(meta(both).unwrap().unwrap().as_map().len(), 1);
        assert_eq!(meta(json!({"dev.toolcrib/call": 1})).unwrap(), None);
        let long = json!({"a": "x".repeat(ToolMeta::BYTES)});
        assert!(meta(long.clone()).unwrap_err().to_string().contains("the limit is 16384"));
        assert!(serde_json::from_value::<ToolMeta>(long).is_err());
        let read: ToolMeta = serde_json::from_value(json!({"dev.toolcrib/call": 1})).unwrap();
        assert!(read.as_map().is_empty(), "a file of a tool does not say them either");
    }

    #[test]
    fn a_page_is_an_address_of_its_own_kind() {
        let check = |words: Value, page: Option<&str>, for_models: bool| {
            let meta = meta(words).unwrap().unwrap();
            assert_eq!((meta.page(), meta.is_for_models()), (page, for_models));
        };
        check(json!({"ui": {"resourceUri": "ui://a/b"}}), Some("ui://a/b"), true);
        check(json!({"ui/resourceUri": "ui://a/b"}), Some("ui://a/b"), true);
        check(json!({"ui": {"resourceUri": "file:///etc/passwd"}}), None, true);
        check(json!({"ui": {"visibility": ["model", "app"]}}), None, true);
        check(json!({"ui": {"visibility": ["app"]}}), None, false);
    }
}
