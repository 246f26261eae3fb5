//! How good `find_tools` is, and how fast: `cargo xtask eval-find`.
//!
//! `--data FILE` measures other data than the compact set in `eval/`; `--split NAME` another part of it than `dev`; `--run FILE` writes the
//! rankings; `--model FOLDER` takes another model; `--speed` also takes the times.

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

use toolcrib_discover::Model;
use toolcrib_discover::eval::{self, Collection, Figures, Measured};

/// What the command line asks for.
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
    let data: Box<dyn BufRead> = match &asked.data {
        Some(path) => Box::new(BufReader::new(File::open(path)?)),
        None => Box::new(&include_bytes!("../../eval/compact.jsonl")[..]),
    };
    let data = eval::read(data, &asked.split)?;
    let measured = eval::measure(&model, &data);
    print(&measured);
    if let Some(path) = &asked.run {
        write_run(path, &measured)?;
    }
    if asked.speed {
        speed::print(&model, &tools_of(&data), &queries_of(&data));
    }
    Ok(())
}

fn print(measured: &Measured) {
    println!(
        "{:<24} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "source", "n", "ndcg5", "r1", "r5", "r10", "mrr"
    );
    for (source, figures) in &measured.sources {
        row(source, figures);
    }
    row("MACRO AVERAGE", &measured.macro_average);
}

fn row(source: &str, figures: &Figures) {
    let Figures { queries, ndcg5, recall: [r1, r5, r10], mrr } = figures;
    println!("{source:<24} {queries:>6} {ndcg5:>7.3} {r1:>7.3} {r5:>7.3} {r10:>7.3} {mrr:>7.3}");
}

/// The rankings in the form that a scorer elsewhere reads: `{"id", "ranked"}` on a line.
fn write_run(path: &PathBuf, measured: &Measured) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(path)?);
    for (id, ranked) in &measured.rankings {
        let ranked: Vec<&str> = ranked.iter().map(|id| &**id).collect();
        writeln!(out, "{}", serde_json::json!({"id": id, "ranked": ranked}))?;
    }
    Ok(out.flush()?)
}

fn tools_of(data: &BTreeMap<String, Collection>) -> Vec<(String, toolcrib_discover::Profile)> {
    data.values().flat_map(|collection| collection.tools.clone()).collect()
}

fn queries_of(data: &BTreeMap<String, Collection>) -> Vec<String> {
    data.values().flat_map(|c| c.queries.iter().map(|q| q.query.clone())).collect()
}
