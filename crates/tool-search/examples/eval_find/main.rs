//! Evaluation of `find_tools`: ranking quality and speed, run by `cargo xtask eval-find`.
//!
//! By default it uses the compact set in `eval/`; `--data FILE` selects other data, such as the
//! full labeled set, which is too large for the repository. `--split NAME` selects another part of
//! it than `dev`, `--run FILE` writes the rankings, `--model FOLDER` selects another model, and
//! `--speed` also measures times.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the terminal: printing is what it does"
)]

mod speed;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use toolcrib_tool_search::Model;
use toolcrib_tool_search::evaluation::{self, Collection, Evaluation, RankingMetrics};

/// Command-line options.
struct Asked {
    data: Option<PathBuf>,
    split: String,
    run: Option<PathBuf>,
    model: Option<PathBuf>,
    speed: bool,
}

fn main() -> ExitCode {
    match asked().and_then(|asked| run(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("eval-find: {error}");
            ExitCode::FAILURE
        }
    }
}

fn asked() -> Result<Asked, Box<dyn Error>> {
    let mut asked =
        Asked { data: None, split: "dev".to_owned(), run: None, model: None, speed: false };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--data" => asked.data = Some(value()?.into()),
            "--split" => asked.split = value()?,
            "--run" => asked.run = Some(value()?.into()),
            "--model" => asked.model = Some(value()?.into()),
            "--speed" => asked.speed = true,
            _ => return Err(format!("unexpected argument `{flag}`; known: --data FILE --split NAME --run FILE --model FOLDER --speed").into()),
        }
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<(), Box<dyn Error>> {
    let model = match &asked.model {
        Some(folder) => Arc::new(Model::open(folder)?),
        None => Model::builtin()?,
    };
    let data = evaluation::read(data(asked)?, &asked.split)?;
    let measured = evaluation::evaluate(&model, &data);
    print(&measured);
    if let Some(path) = &asked.run {
        write_run(path, &measured)?;
    }
    if asked.speed {
        speed::print(&model, &tools_of(&data), &queries_of(&data));
    }
    Ok(())
}

/// Opens the selected data and prints which it is.
fn data(asked: &Asked) -> Result<Box<dyn BufRead>, Box<dyn Error>> {
    let Some(path) = &asked.data else {
        println!("data: the compact set");
        return Ok(Box::new(&include_bytes!("../../eval/compact.jsonl")[..]));
    };
    println!("data: {}", path.display());
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

fn print(measured: &Evaluation) {
    println!(
        "{:<24} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "source", "n", "ndcg5", "r1", "r5", "r10", "mrr"
    );
    for (source, figures) in &measured.sources {
        row(source, figures);
    }
    row("MACRO AVERAGE", &measured.macro_average);
}

fn row(source: &str, figures: &RankingMetrics) {
    let RankingMetrics { queries, ndcg5, recall: [r1, r5, r10], mrr } = figures;
    println!("{source:<24} {queries:>6} {ndcg5:>7.3} {r1:>7.3} {r5:>7.3} {r10:>7.3} {mrr:>7.3}");
}

/// Writes the rankings as JSON lines with `id` and `ranked`, for external scorers.
fn write_run(path: &PathBuf, measured: &Evaluation) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(path)?);
    for (id, ranked) in &measured.rankings {
        let ranked: Vec<&str> = ranked.iter().map(|id| &**id).collect();
        writeln!(out, "{}", serde_json::json!({"id": id, "ranked": ranked}))?;
    }
    Ok(out.flush()?)
}

fn tools_of(
    data: &BTreeMap<String, Collection>,
) -> Vec<(String, toolcrib_tool_search::ToolProfile)> {
    data.values().flat_map(|collection| collection.tools.clone()).collect()
}

fn queries_of(data: &BTreeMap<String, Collection>) -> Vec<String> {
    data.values().flat_map(|c| c.queries.iter().map(|q| q.query.clone())).collect()
}
