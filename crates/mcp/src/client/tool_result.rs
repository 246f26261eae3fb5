//! Converts a server's tool result into ours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use toolcrib_core::{Blob, Block, ToolOutput, Trust};

/// Converts the result of a tool of this server.
pub(crate) fn output(server: &str, result: CallToolResult) -> ToolOutput {
    let mut content: Vec<Block> = result.content.into_iter().map(block).collect();
    let structured = result.structured_content;
    // Servers repeat structured data as text for old clients; the model gets the data once.
    if let (Some(data), [Block::Text { text, .. }]) = (&structured, content.as_slice())
        && serde_json::from_str::<serde_json::Value>(text).is_ok_and(|told| told == *data)
    {
        content.clear();
    }
    ToolOutput {
        content,
        structured,
        is_error: result.is_error == Some(true),
        error_type: None,
        sandbox: None,
        trust: Some(Trust::External),
        source: Some(format!("MCP server {server}")),
    }
}

fn block(content: ContentBlock) -> Block {
    match content {
        ContentBlock::Text(text) => Block::text(text.text),
        ContentBlock::Image(image) => blob(image.mime_type, &image.data, Block::Image),
        ContentBlock::Audio(audio) => blob(audio.mime_type, &audio.data, Block::Audio),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                Block::Resource { uri, media_type: mime_type, text: Some(text) }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob: data, .. } => {
                let media_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                if media_type.starts_with("image/") {
                    return blob(media_type, &data, Block::Image);
                }
                let bytes = data.len() / 4 * 3;
                let text = format!("[{bytes} bytes of {media_type}, which are not shown]");
                Block::Resource { uri, media_type: Some(media_type), text: Some(text) }
            }
            _ => Block::text("[a resource of a kind that is not known here]"),
        },
        ContentBlock::ResourceLink(link) => {
            let name = link.title.unwrap_or(link.name);
            let text = link.description.map_or(name.clone(), |about| format!("{name}: {about}"));
            Block::Resource { uri: link.uri, media_type: link.mime_type, text: Some(text) }
        }
        _ => Block::text("[content of a kind that is not known here]"),
    }
}

fn blob(media_type: String, data: &str, made: fn(Blob) -> Block) -> Block {
    match STANDARD.decode(data.trim()) {
        Ok(data) => made(Blob { media_type, data }),
        Err(_) => Block::text(format!("[{media_type} that is not valid base64]")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(result: Value, blocks: &[Block], structured: Option<Value>) {
        let output = output("s", serde_json::from_value(result).unwrap());
        assert_eq!(output.content, blocks);
        assert_eq!(output.structured, structured);
        assert_eq!(output.trust, Some(Trust::External));
    }

    #[test]
    fn each_kind_of_content_has_its_block() {
        check(json!({"content": [{"type": "text", "text": "hi"}]}), &[Block::text("hi")], None);
        let pixel = Blob { media_type: "image/png".to_owned(), data: vec![1, 2, 3] };
        check(
            json!({"content": [{"type": "image", "data": "AQID", "mimeType": "image/png"}]}),
            &[Block::Image(pixel)],
            None,
        );
        check(
            json!({"content": [{"type": "image", "data": "!!", "mimeType": "image/png"}]}),
            &[Block::text("[image/png that is not valid base64]")],
            None,
        );
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "description": "the first"});
        check(
            json!({"content": [link]}),
            &[Block::Resource {
                uri: "file:///a".to_owned(),
                media_type: None,
                text: Some("a: the first".to_owned()),
            }],
            None,
        );
    }

    #[test]
    fn data_that_is_repeated_as_text_is_read_once() {
        let data = json!({"a": 1});
        check(
            json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": data}),
            &[],
            Some(data.clone()),
        );
        check(
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": data}),
            &[Block::text("one")],
            Some(data),
        );
    }
}
