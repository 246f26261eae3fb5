//! Finding tools by meaning: the index over ten thousand tools, a query over it, the model (issue
//! 8, Figures).

use std::hint::black_box;

use toolcrib_tool_search::evaluation::{self, Collection};
use toolcrib_tool_search::{Index, Model, ToolProfile};

use crate::results::Results;
use crate::timing::cpu_ms;

/// Tools in the index.
const TOOLS: usize = 10_000;
/// Queries of a measurement.
const QUERIES: usize = 200;
/// Labelled needs of public tool collections.
const DATA: &[u8] = include_bytes!("../../../crates/tool-search/eval/compact.jsonl");

pub(crate) fn run(table: &mut Results) {
    let data = evaluation::read(DATA, "dev").expect("the evaluation set");
    let loaded = cpu_ms(15, || Model::load_builtin().expect("the model"));
    table.at_most("find: the model, loaded", loaded, "ms", 20.0);
    let model = Model::builtin().expect("the model");
    let collections = || data.values();
    let tools: Vec<&(String, ToolProfile)> = collections().flat_map(|c| &c.tools).collect();
    let build = || {
        let mut index = Index::new(model.clone());
        for (n, (id, profile)) in tools.iter().cycle().take(TOOLS).enumerate() {
            index.put(&format!("{n}:{id}"), profile);
        }
        index
    };
    table.at_most("find: 10,000 tools, indexed", cpu_ms(3, build), "ms", 1000.0);
    let index = build();
    let needs = collections().flat_map(|c: &Collection| &c.queries);
    let needs: Vec<&str> = needs.map(|need| need.query.as_str()).take(QUERIES).collect();
    let all = cpu_ms(9, || {
        for need in &needs {
            black_box(index.find(need, 5));
        }
    });
    let each = all / needs.len().max(1) as f64;
    table.at_most("find: a query over 10,000 tools, one core", each, "ms", 0.3);
    let measured = evaluation::evaluate(&model, &data);
    table.figure("find: nDCG@5 on the compact set", measured.macro_average.ndcg5, "");
}
