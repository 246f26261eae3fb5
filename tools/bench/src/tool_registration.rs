//! Registration: the built-ins, and 1,000 tools with schemas and their declarations for every
//! provider.

use std::sync::Arc;

use serde_json::json;
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_core::ViewRequest;
use toolcrib_engine::Engine;
use toolcrib_providers::{Format, Options, declare};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::results::Results;
use crate::timing::{cpu_ms, wall_ms};

fn tool(n: usize) -> Arc<ScriptedTool> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path to work on."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many."},
            "mode": {"type": "string", "enum": ["fast", "safe"], "description": "How."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "deep": {"type": "object", "properties": {"flag": {"type": "boolean"}}}
        },
        "required": ["path"]
    });
    Arc::new(ScriptedTool::new(&format!("tool_{n}")).takes(schema))
}

pub(crate) fn run(table: &mut Results) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let builtins = wall_ms(9, || {
        let settings = Settings::new(folder.path(), folder.path().with_extension("state"));
        runtime.block_on(Toolcrib::builder(settings).build()).expect("a Toolcrib");
    });
    table.at_most("registry: the built-ins, wired (limit 100 ms)", builtins, "ms", 100.0);
    let tools: Vec<_> = (0..1000).map(tool).collect();
    let source = fixed_source("bench", &tools.iter().collect::<Vec<_>>());
    for format in Format::ALL {
        let mut view = ViewRequest::default();
        view.model.provider = format.to_string();
        let view = Arc::new(view);
        let ms = cpu_ms(15, || {
            let engine = Engine::builder().build();
            runtime.block_on(engine.catalog().attach(&source)).expect("a source");
            let seen = engine.catalog().view(&view);
            let declared = declare(format, &seen.tools, &Options::default());
            // Kept until the clock has stopped: freeing is no part of registering.
            (declared.value.to_string(), declared, seen, engine)
        });
        table.at_most(
            format!("registry: 1,000 tools with declarations for {format}"),
            ms,
            "ms",
            15.0,
        );
    }
}
