//! How good `find_tools` is, and how fast: `cargo xtask eval-find`.
//!
//! It measures the full labelled data where it lies beside the project, else the compact set in `eval/`, and says which. `--compact` takes the
//! compact set anyway, `--data FILE` other data; `--split NAME` another part of it than `dev`; `--run FILE` writes the
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

/// Where the full data lies for those who have it, seen from the root of the workspace. It is too large to be part of the project.
const FULL: &str = "../shared/tool-retrieval/dev.jsonl";

/// What the command line asks for.
struct Asked {
    compact: bool,
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
    let mut asked = Asked {
        compact: false,
        data: None,
        split: "dev".to_owned(),
        run: None,
        model: None,
        speed: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--compact" => asked.compact = true,
            "--data" => asked.data = Some(value()?.into()),
            "--split" => asked.split = value()?,
            "--run" => asked.run = Some(value()?.into()),
            "--model" => asked.model = Some(value()?.into()),
            "--speed" => asked.speed = true,
            _ => return Err(format!("unexpected argument `{flag}`; known: --compact --data FILE --split NAME --run FILE --model FOLDER --speed").into()),
        }
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<(), Box<dyn Error>> {
    let model = match &asked.model {
        Some(folder) => Arc::new(Model::open(folder)?),
        None => Model::builtin()?,
    };
    let data = eval::read(data(asked)?, &asked.split)?;
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

/// The data that is asked for; it is said which it is.
fn data(asked: &Asked) -> Result<Box<dyn BufRead>, Box<dyn Error>> {
    let compact = || Box::new(&include_bytes!("../../eval/compact.jsonl")[..]);
    let full = PathBuf::from(FULL);
    let path = match &asked.data {
        Some(path) => path,
        None if asked.compact => {
            println!("data: the compact set of the project");
            return Ok(compact());
        }
        None if !full.exists() => {
            println!("data: the compact set of the project, because {FULL} is not there");
            return Ok(compact());
        }
        None => &full,
    };
    println!("data: {}", path.display());
    Ok(Box::new(BufReader::new(File::open(path)?)))
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
