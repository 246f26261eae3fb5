//! Cost of documents with a hundred thousand passages in a database: indexing them, and a search by
//! words and meaning.

use std::sync::Arc;
use std::time::Instant;

use toolcrib_assistant::Writer;
use toolcrib_assistant::document::{Documents, TextExtractor, TextWindow};
use toolcrib_core::{Author, BoxFuture, ToolError};
use toolcrib_store::SqliteStore;
use toolcrib_tool_search::evaluation::{self, Collection};

use crate::results::Results;
use crate::timing::{cpu, median};

/// Passages of all documents.
const PASSAGES: u32 = 100_000;
/// Documents that they are in.
const DOCUMENTS: u32 = 20;
/// Passages of a page: each sentence of the data is about a tenth of one.
const PAGE: u32 = 5;
/// Sentences of a passage.
const SENTENCES: usize = 10;
/// Words that stand for names and numbers of a real text, each in few passages.
const NAMES: u64 = 20_000;
/// Searches of a measurement.
const ROUNDS: usize = 400;
/// Labelled needs of public tool collections: their sentences are the text, their queries the
/// questions.
const DATA: &[u8] = include_bytes!("../../../crates/tool-search/eval/compact.jsonl");

/// Pages of sentences in a changing order that the name of the document decides.
struct Pages(Vec<String>);

impl TextExtractor for Pages {
    fn extract<'a>(
        &'a self,
        name: &'a str,
        _: &'a [u8],
        _: u32,
    ) -> BoxFuture<'a, Result<TextWindow, ToolError>> {
        let mut random = Random(name.parse().unwrap_or(1));
        let count = PASSAGES / DOCUMENTS / PAGE;
        let parts = (1..=count).map(|page| (page, self.page(&mut random))).collect();
        let (format, unit) = ("PDF".to_owned(), "page".to_owned());
        let window = TextWindow { format, unit, count, parts, next: None, problem: None };
        Box::pin(std::future::ready(Ok(window)))
    }
}

impl Pages {
    /// Paragraphs that fill a passage each.
    fn page(&self, random: &mut Random) -> String {
        let mut page = String::new();
        for _ in 0..PAGE {
            let mut paragraph = String::new();
            for _ in 0..SENTENCES {
                let sentence = &self.0[random.next() as usize % self.0.len()];
                let name = random.next() % NAMES;
                paragraph += &format!("{sentence} (n{name}) ");
            }
            page.extend(paragraph.chars().take(880));
            page += "\n\n";
        }
        page
    }
}

/// A linear congruential generator (Knuth's MMIX), the same text in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(table));
}

async fn measure(table: &mut Results) {
    let data = evaluation::read(DATA, "dev").expect("the evaluation set");
    let texts = data.values().flat_map(|c: &Collection| &c.tools);
    let sentences = texts.flat_map(|(_, profile)| profile.description.split(". "));
    let sentences: Vec<String> =
        sentences.filter(|text| text.len() > 20).map(str::to_owned).collect();
    let queries: Vec<&str> =
        data.values().flat_map(|c| &c.queries).map(|query| query.query.as_str()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::open(&folder.path().join("documents.db")).expect("a store"));
    let pages = Arc::new(Pages(sentences));
    let documents = Documents::new(Arc::clone(&store) as _, store, pages, None);
    let writer = Writer { owner: String::new(), author: Author::default(), untrusted: None };

    let (begun, mut indexed) = (cpu(), 0);
    for n in 1..=DOCUMENTS {
        let name = n.to_string();
        let added = documents.add(&writer, &name, name.clone().into_bytes()).await;
        indexed += added.expect("a document").chunks;
    }
    let taken = (cpu() - begun).as_secs_f64();
    assert!(indexed >= PASSAGES, "{indexed} passages");
    let rate = f64::from(indexed) / taken;
    table.figure("documents: passages", f64::from(indexed), "");
    table.at_least("documents: passages indexed a second of one core", rate, "", 200.0);

    let begun = Instant::now();
    documents.search("", queries[0], 5).await.expect("a search");
    let first = begun.elapsed().as_secs_f64() * 1000.0;
    table.figure("documents: the first search of a process", first, "ms");
    let query = |n: usize| queries[n % queries.len()].to_owned();
    let (sentence, of_cpu) = time_searches(&documents, query).await;
    table.at_most("documents: a search among 100,000 passages, p50", sentence, "ms", 5.0);
    let name = |n: usize| format!("what is said about n{}", n as u64 * 7 % NAMES);
    // Work of all threads together: an upper bound of the time of a search on an idle machine.
    table.at_most("documents: the same in CPU time, p50", of_cpu, "ms", 5.0);
    let (name, _) = time_searches(&documents, name).await;
    table.at_most("documents: a search for a name in few of them, p50", name, "ms", 5.0);
}

/// Milliseconds of a search, on the clock and of the processors.
async fn time_searches(documents: &Documents, query: impl Fn(usize) -> String) -> (f64, f64) {
    let (mut times, mut of_cpu) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for n in 0..ROUNDS {
        let query = query(n);
        let (begun, worked) = (Instant::now(), cpu());
        let found = documents.search("", &query, 5).await.expect("a search");
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        of_cpu.push((cpu() - worked).as_secs_f64() * 1000.0);
        assert!(!found.is_empty(), "{query}");
    }
    (median(times.into_iter()), median(of_cpu.into_iter()))
}
