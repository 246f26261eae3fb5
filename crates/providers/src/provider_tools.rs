//! Tools that providers define: hosted tools, which the provider runs, and provider-defined tools,
//! which run here.
//!
//! A hosted tool is declared and its calls are recorded. A provider-defined tool is declared in the
//! provider's terms and run by an implementation of its trait. The providers' shell, editor, patch
//! and memory tools are not declared, because Toolcrib has no tools with the same semantics.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Assessment, Blob, Block, BoxFuture, CallCtx, Effect, Entry, Example, Handler, ProviderSpec,
    Reach, Risk, ToolError, ToolName, ToolOutput, ToolSpec, Trust, remote_name,
};

/// Id of the source.
pub const SOURCE: &str = "provider";

/// Returns the hosted tools as a source for the registry.
#[must_use]
pub fn source() -> FixedSource {
    FixedSource::new(SOURCE, vec![web_search()])
}

/// Returns the hosted web search. Disabled by default: each search costs money, and Gemini accepts
/// it together with other tools only on newer models.
#[must_use]
pub fn web_search() -> Entry {
    let mut spec = ToolSpec::new(
        named("hosted_web_search"),
        "Search the web. The provider of the model searches and reads; nothing is sent from here.",
        json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    );
    spec.title = "Search the web (by the provider)".to_owned();
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.trust = Trust::External;
    spec.default_enabled = false;
    spec.group = Some("web".to_owned());
    spec.examples = vec![Example {
        need: "What was decided at the summit yesterday?".to_owned(),
        args: json!({"query": "summit decisions"}),
    }];
    let providers = vec![
        declared("openai-responses", json!({"type": "web_search"}), &["web_search_call"]),
        declared(
            "anthropic",
            json!({"type": "web_search_20260318", "name": "web_search"}),
            &["server_tool_use"],
        ),
        declared("gemini", json!({"googleSearch": {}}), &[]),
    ];
    Entry::Hosted { spec: Arc::new(spec), providers }
}

/// A screen with mouse and keyboard for computer use. Toolcrib has no implementation; an embedder
/// can provide one.
pub trait Computer: Send + Sync + 'static {
    /// Returns width and height of the screen in pixels.
    fn size(&self) -> (u32, u32);

    /// Performs the action and takes a screenshot afterwards. `action` is in the provider's format:
    /// OpenAI's `action` or `actions`, Anthropic's `action` with coordinates.
    ///
    /// # Errors
    /// A [`ToolError`], which the model reads.
    fn act<'a>(
        &'a self,
        ctx: &'a CallCtx,
        action: &'a Value,
    ) -> BoxFuture<'a, Result<Blob, ToolError>>;
}

/// Creates the tool for computer use on this computer. Anthropic requires its beta header
/// (`anthropic-beta: computer-use-2025-01-24`) in the headers of the provider's configuration.
pub fn computer(computer: Arc<dyn Computer>) -> Entry {
    let (width, height) = computer.size();
    let mut spec = ToolSpec::new(
        named("computer"),
        "Use a screen, a mouse and a keyboard.",
        json!({"type": "object", "additionalProperties": true}),
    );
    spec.title = "Use the screen".to_owned();
    spec.risk = Risk::Critical;
    spec.effect = Effect::SideEffect;
    spec.reach = Reach { outbound: true, exec: true, private_read: true };
    spec.trust = Trust::External;
    spec.timeout = Duration::from_secs(60);
    let providers = vec![
        declared("openai-responses", json!({"type": "computer"}), &["computer_call"]),
        declared(
            "anthropic",
            json!({
                "type": "computer_20250124",
                "name": "computer",
                "display_width_px": width,
                "display_height_px": height,
            }),
            &["computer"],
        ),
    ];
    let handler = Arc::new(ComputerTool { spec: Arc::new(spec), computer });
    Entry::ProviderDefined { providers, handler }
}

struct ComputerTool {
    spec: Arc<ToolSpec>,
    computer: Arc<dyn Computer>,
}

impl Handler for ComputerTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        Ok(Assessment::from_spec(&self.spec).with_summary(format!("use the computer: {args}")))
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let screen = self.computer.act(ctx, args).await?;
            Ok(ToolOutput::from_blocks(vec![Block::Image(screen)])
                .with_origin(Trust::External, "screen"))
        })
    }
}

fn declared(provider: &str, declaration: Value, call_types: &[&str]) -> ProviderSpec {
    let call_types = call_types.iter().map(|&kind| kind.to_owned()).collect();
    ProviderSpec { provider: provider.to_owned(), declaration, call_types }
}

/// Creates a tool name. The names in this file are valid (tested); the fallback only avoids a
/// panic.
fn named(name: &str) -> ToolName {
    ToolName::local(name).unwrap_or_else(|_| remote_name(SOURCE, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Options, declare};

    struct Screen;

    impl Computer for Screen {
        fn size(&self) -> (u32, u32) {
            (1024, 768)
        }

        fn act<'a>(
            &'a self,
            _ctx: &'a CallCtx,
            _action: &'a Value,
        ) -> BoxFuture<'a, Result<Blob, ToolError>> {
            Box::pin(async { Err(ToolError::execution("there is no screen")) })
        }
    }

    #[test]
    fn each_provider_is_told_of_what_it_has_in_its_own_words() {
        let entries = [web_search(), computer(Arc::new(Screen))];
        let of = |format| declare(format, &entries, &Options::default());
        assert_eq!(of(Format::OpenAiChat).value, Value::Null, "it has neither");
        let responses = of(Format::OpenAiResponses);
        assert_eq!(responses.value, json!([{"type": "web_search"}, {"type": "computer"}]));
        assert_eq!(responses.names.original("computer_call"), Some("computer"));
        let anthropic = of(Format::Anthropic);
        assert_eq!(anthropic.value[1]["display_width_px"], 1024);
        assert_eq!(anthropic.names.original("computer"), Some("computer"));
        assert_eq!(of(Format::Gemini).value, json!([{"googleSearch": {}}]));
        assert_eq!(entries[0].spec().name.as_str(), "hosted_web_search");
        assert!(!entries[0].spec().default_enabled);
    }
    /// A model that gets the provider's search is not offered ours under the same name too.
    #[test]
    fn a_hosted_search_takes_the_place_of_the_own_one() {
        let spec = ToolSpec::new(named("web_search"), "Ours.", json!({"type": "object"}));
        let tool = ComputerTool { spec: Arc::new(spec), computer: Arc::new(Screen) };
        let ours = Entry::Local(Arc::new(tool));
        let count = |format, entries: &[Entry]| {
            declare(format, entries, &Options::default()).value.as_array().map_or(0, Vec::len)
        };
        for format in [Format::Anthropic, Format::OpenAiResponses] {
            assert_eq!(count(format, &[ours.clone(), web_search()]), 1, "{format:?}");
        }
        assert_eq!(count(Format::OpenAiChat, &[ours, web_search()]), 1);
    }
}
