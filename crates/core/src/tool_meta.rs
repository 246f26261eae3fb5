//! What the maker of a tool says of it to programs: the `_meta` of MCP, such as which page shows its results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Words of a tool's maker for the programs of clients, passed on as they are and never shown to a model. At most [`ToolMeta::BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct ToolMeta(Map<String, Value>);

/// Words of a tool's maker that are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its _meta has {0} bytes; at most {max} are taken", max = ToolMeta::BYTES)]
pub struct MetaTooLong(usize);

/// How our own keys begin. Nobody else says them in our place.
const OURS: &str = "dev.toolcrib/";

impl ToolMeta {
    /// Most bytes of JSON. Those of known servers have some hundred.
    pub const BYTES: usize = 16 * 1024;

    /// These words, without keys that are ours; `None` = nothing is left.
    ///
    /// # Errors
    /// [`MetaTooLong`].
    pub fn of(words: Map<String, Value>) -> Result<Option<Self>, MetaTooLong> {
        let own = Self::try_from(words)?;
        Ok((!own.0.is_empty()).then_some(own))
    }

    /// All of them.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The page that shows what the tool returns, a `ui://` address (MCP Apps, SEP-1865; the flat key is the form before its release).
    #[must_use]
    pub fn page(&self) -> Option<&str> {
        let page = self.0.get("ui").and_then(|ui| ui.get("resourceUri"));
        let page = page.or_else(|| self.0.get("ui/resourceUri"))?;
        page.as_str().filter(|uri| uri.starts_with("ui://"))
    }

    /// Whether models may be offered the tool; some are for the page of their server alone (`ui.visibility`).
    #[must_use]
    pub fn is_for_models(&self) -> bool {
        let visibility = self.0.get("ui").and_then(|ui| ui.get("visibility"));
        let Some(visibility) = visibility.and_then(Value::as_array) else { return true };
        visibility.iter().any(|who| who == "model")
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
        ToolMeta::of(words.as_object().unwrap().clone())
    }

    #[test]
    fn nobody_says_our_words_and_nobody_says_too_many() {
        let both = json!({"dev.toolcrib/call": {"trust": "tool"}, "a": 1});
        assert_eq!(meta(both).unwrap().unwrap().as_map().len(), 1);
        assert_eq!(meta(json!({"dev.toolcrib/call": 1})).unwrap(), None);
        let long = json!({"a": "x".repeat(ToolMeta::BYTES)});
        assert!(meta(long.clone()).unwrap_err().to_string().contains("at most 16384"));
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
