//! Preview of a first request's content besides the messages; nothing is sent.

use std::sync::Arc;

use toolcrib_core::{Catalog, ModelCapabilities, ViewRequest};
use toolcrib_providers::declare;
use toolcrib_providers::model::Model;

use crate::context;
use crate::tool_selection::{FoundTools, PricedView, SelectedTools, ToolSelectionRules};

/// The content of a request besides the system prompt and the messages.
#[derive(Debug, Clone)]
pub struct DeclarationsPreview {
    /// The declared tools and the groups that can be loaded.
    pub offered: SelectedTools,
    /// Estimated tokens of all declarations together.
    pub tokens: u64,
    /// The declared tools with the estimated tokens of each alone.
    pub tools: Vec<(String, u64)>,
}

/// Returns the declarations of a first request to this model, as the driver creates them. `view`
/// contains the limits of the agent and of its skills.
#[must_use]
pub fn preview_declarations(
    catalog: &dyn Catalog,
    rules: ToolSelectionRules,
    on_device_tools: &[String],
    mut view: ViewRequest,
    model: &dyn Model,
    window: u64,
) -> DeclarationsPreview {
    let (info, format, options) = (model.info(), model.tool_format(), model.tool_options());
    let allow = info.on_device.then(|| on_device_tools.to_vec());
    view.model = ModelCapabilities { provider: info.format.to_string(), allow };
    let priced = PricedView::new(catalog.view(&Arc::new(view)), format.as_str().to_owned());
    let offered = priced.select(rules, &FoundTools::default(), window);
    let tokens = context::estimate_declarations(&declare(format, &offered.tools, &options));
    let alone = |entry: &toolcrib_core::Entry| {
        let declared = declare(format, std::slice::from_ref(entry), &options);
        (entry.spec().name.to_string(), context::estimate_declarations(&declared))
    };
    let tools = offered.tools.iter().map(alone).collect();
    DeclarationsPreview { offered, tokens, tools }
}
