//! Tests a model with one small request: whether it responds, with this key, at this address.

use std::sync::Arc;

use toolcrib_core::CancellationToken;
use toolcrib_providers::conversation::{Message, UserMessage};
use toolcrib_providers::http_provider::{Endpoint, ModelOptions};
use toolcrib_providers::model::{Model as _, ModelRequest};

use crate::config::{ModelChain, ModelChoice};
use crate::output::Failure;

/// Maximum number of tokens of the answer: models that reason first need some for that.
const MAX_OUTPUT: u64 = 256;

/// Sends a request to the first model of the chain.
///
/// # Errors
/// Exit code 1, with the provider's error.
pub(crate) async fn ask(chain: ModelChain) -> Result<(), Failure> {
    let Some(ModelChoice::Live { provider, model }) = chain.models.into_iter().next() else {
        return Ok(());
    };
    let endpoint =
        Endpoint::new(*provider).map_err(|error| Failure::configuration(error.to_string()))?;
    let model = endpoint.model(&model, ModelOptions::default());
    let text = "Answer with the word ready.".to_owned();
    let request = ModelRequest {
        system: String::new(),
        messages: vec![Arc::new(Message::User(UserMessage { text, ..UserMessage::default() }))],
        tools: None,
        temperature: None,
        max_output: Some(MAX_OUTPUT),
        stream: false,
    };
    let reply = model.ask(&request, &mut |_| (), &CancellationToken::new()).await;
    reply.map(|_| ()).map_err(|error| Failure::run(error.to_string()))
}
