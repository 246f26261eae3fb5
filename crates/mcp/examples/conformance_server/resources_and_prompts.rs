//! Prompts and resources that the suite requests.

use std::collections::BTreeMap;

use serde_json::{Map, json};
use toolcrib_core::{Blob, Block, BoxFuture, View};
use toolcrib_mcp::client_channel::ClientChannel;
use toolcrib_mcp::rmcp::model::InputRequest;
use toolcrib_mcp::server::{
    ClientIdentity, Contents, Message, Prompt, Refusal, Resource, ResourceBody, ResourcesAndPrompts,
};

/// Returns an image of one red pixel.
pub(crate) fn pixel() -> Vec<u8> {
    use base64::Engine as _;
    let text = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}

pub(crate) struct Fixtures;

fn prompt(name: &str, arguments: &[(&str, &str)]) -> Prompt {
    let arguments = arguments.iter().map(|(n, about)| ((*n).to_owned(), (*about).to_owned(), true));
    Prompt {
        name: name.to_owned(),
        title: None,
        description: format!("The prompt {name} of the suite."),
        arguments: arguments.collect(),
    }
}

fn said(content: Block) -> Message {
    Message { by_model: false, content }
}

impl ResourcesAndPrompts for Fixtures {
    fn prompts<'a>(&'a self, _: &'a ClientIdentity) -> BoxFuture<'a, Vec<Prompt>> {
        let all = vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &[("arg1", "The first"), ("arg2", "The second")]),
            prompt("test_prompt_with_embedded_resource", &[("resourceUri", "What to embed")]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ];
        Box::pin(std::future::ready(all))
    }

    fn prompt<'a>(
        &'a self,
        _: &'a ClientIdentity,
        caller: &'a ClientChannel,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<Message>, Refusal>> {
        Box::pin(async move {
            let given = |name: &str| arguments.get(name).cloned().unwrap_or_default();
            Ok(match name {
                "test_simple_prompt" => {
                    vec![said(Block::text("This is a simple prompt for testing."))]
                }
                "test_prompt_with_arguments" => {
                    let (one, two) = (given("arg1"), given("arg2"));
                    vec![said(Block::text(format!(
                        "Prompt with arguments: arg1='{one}', arg2='{two}'"
                    )))]
                }
                "test_prompt_with_embedded_resource" => vec![
                    said(Block::Resource {
                        uri: given("resourceUri"),
                        media_type: Some("text/plain".to_owned()),
                        text: Some("Embedded resource content for testing.".to_owned()),
                    }),
                    said(Block::text("Please process the embedded resource above.")),
                ],
                "test_prompt_with_image" => vec![
                    said(Block::Image(Blob { media_type: "image/png".to_owned(), data: pixel() })),
                    said(Block::text("Please analyze the image above.")),
                ],
                "test_input_required_result_prompt" => {
                    let schema = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
                    let params = json!({"mode": "form", "message": "What context should the prompt use?", "requestedSchema": schema});
                    let question = json!({"method": "elicitation/create", "params": params});
                    let question: InputRequest =
                        serde_json::from_value(question).map_err(|error| error.to_string())?;
                    let asked = BTreeMap::from([("user_context".to_owned(), question)]);
                    let answers = caller.ask(asked).await.map_err(|error| error.to_string())?;
                    let context = &answers["user_context"]["content"]["context"];
                    vec![said(Block::text(format!("Use this context: {context}")))]
                }
                _ => return Err(format!("there is no prompt {name}")),
            })
        })
    }

    fn resources<'a>(&'a self, _: &'a ClientIdentity, _: &'a View) -> BoxFuture<'a, Vec<Resource>> {
        let resource = |uri: &str, name: &str, media_type: &str| Resource {
            uri: uri.to_owned(),
            name: name.to_owned(),
            description: Some(format!("The {name} of the suite.")),
            media_type: Some(media_type.to_owned()),
            size: None,
        };
        let all = vec![
            resource("test://static-text", "text", "text/plain"),
            resource("test://static-binary", "picture", "image/png"),
            resource("test://watched-resource", "watched text", "text/plain"),
        ];
        Box::pin(std::future::ready(all))
    }

    fn templates(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "test://template/{id}/data".to_owned(),
            name: "template".to_owned(),
            description: Some("Data by its id.".to_owned()),
            media_type: Some("application/json".to_owned()),
            size: None,
        }]
    }

    fn read<'a>(
        &'a self,
        _: &'a ClientIdentity,
        _: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        let text = |text: String, media_type: &str| Some(Contents::text(media_type, text));
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-text", _) => {
                text("This is the content of the static text resource.".to_owned(), "text/plain")
            }
            ("test://watched-resource", _) => text("Watched.".to_owned(), "text/plain"),
            ("test://static-binary", _) => Some(Contents {
                media_type: Some("image/png".to_owned()),
                body: ResourceBody::Bytes(pixel()),
                meta: Map::new(),
            }),
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                text(data.to_string(), "application/json")
            }
            _ => None,
        };
        Box::pin(std::future::ready(Ok(contents)))
    }
}
