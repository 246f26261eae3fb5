//! The answer of a tool of an app: always text from outside.

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_assistant::card;
use toolcrib_core::{Block, ToolOutput, Trust};

/// Maximum characters of an address that an app asks to open.
const URL_CHARS: usize = 2_000;

/// The answer of `/execute`. Every member may be absent or null.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer {
    text: Option<String>,
    data: Option<Value>,
    error: Option<String>,
    blocks: Option<Vec<Value>>,
    open_url: Option<String>,
}

impl Answer {
    /// Converts the answer of an app. An error suppresses the other members.
    pub(super) fn output(self, app: &str) -> ToolOutput {
        let source = format!("app {app}");
        let mut output = match self.error.filter(|error| !error.trim().is_empty()) {
            Some(error) => {
                ToolOutput { is_error: true, ..ToolOutput::from_blocks(vec![Block::text(error)]) }
            }
            None => {
                let mut content: Vec<Block> = self.text.map(Block::text).into_iter().collect();
                content.extend(self.blocks.and_then(|blocks| shown(blocks, &source)));
                content.extend(self.open_url.map(|url| Block::text(asks_to_open(&url))));
                let output = ToolOutput::from_blocks(content);
                match self.data {
                    Some(data) => output.with_structured(data),
                    None => output,
                }
            }
        };
        output.trust = Some(Trust::External);
        output.source = Some(source);
        output
    }
}

/// Returns the card of an app's blocks.
fn shown(blocks: Vec<Value>, source: &str) -> Option<Block> {
    if blocks.is_empty() {
        return None;
    }
    Some(match card::decode(blocks) {
        Ok(card) => Block::Card { card: json!({"blocks": card.blocks, "untrusted": source}) },
        Err(error) => Block::text(format!(
            "The blocks of the app cannot be shown: {}: {}.",
            error.path, error.why
        )),
    })
}

/// Returns the text for an address that the app asks to open. Nothing is opened.
fn asks_to_open(url: &str) -> String {
    let is_web = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_web || url.len() > URL_CHARS {
        return "The app asks to open something that is not a web address; it was left out."
            .to_owned();
    }
    format!("The app asks to open {url}; it was not opened.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(answer: Value) -> ToolOutput {
        serde_json::from_value::<Answer>(answer).unwrap().output("office")
    }

    #[test]
    fn every_answer_is_text_from_outside() {
        for (answer, part) in [
            (json!({"text": "hello"}), "hello"),
            (json!({"text": null, "data": {"a": 1}, "blocks": null}), "\"a\""),
            (json!({"error": "no", "text": "hello"}), "no"),
            (json!({"openUrl": "https://example.org/x"}), "was not opened"),
            (json!({"openUrl": "javascript:alert(1)"}), "left out"),
            (json!({"openUrl": "file:///etc/passwd"}), "left out"),
            (json!({"blocks": [{"type": "nosuch"}]}), "cannot be shown"),
            (json!({"blocks": [{"type": "metric", "label": "a", "value": "1"}]}), "untrusted"),
        ] {
            let output = output(answer.clone());
            let text = serde_json::to_string(&output).unwrap();
            assert!(text.contains(part), "{text}");
            assert_eq!(output.trust, Some(Trust::External));
            assert_eq!(output.is_error, answer["error"].is_string());
            assert!(!text.contains("hello") || !output.is_error, "{text}");
        }
    }
}
