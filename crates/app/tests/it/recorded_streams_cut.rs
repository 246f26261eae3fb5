//! Recorded responses, complete and cut at every byte: no panic, and no partial call runs.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use toolcrib_core::RawArgs;
use toolcrib_providers::{Format, ModelCall, parse};
use toolcrib_testkit::provider_recordings::{Response, Suite};

use crate::recorded_traffic::{format_of, suites, tools, whole_at};

/// Number of threads; the machine may have few cores, and other tests run too.
const THREADS: usize = 4;

#[test]
fn every_suite_is_complete() {
    let (suites, tools) = (suites(), tools());
    let least = |provider: &str| match provider {
        "deepseek" | "openai-compatible" => 12,
        _ => 25,
    };
    let providers: Vec<&str> = suites.iter().map(|suite| suite.provider.as_str()).collect();
    for provider in
        ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "openai-compatible"]
    {
        assert!(providers.contains(&provider), "{provider} is missing: {providers:?}");
    }
    for suite in &suites {
        let exchanges: usize = suite.scenarios.iter().map(|s| s.exchanges.len()).sum();
        assert!(exchanges >= least(&suite.provider), "{}: only {exchanges}", suite.provider);
        for scenario in &suite.scenarios {
            let unknown = scenario.tools.iter().find(|name| !tools.contains(name));
            assert_eq!(unknown, None, "{}/{}", suite.provider, scenario.name);
        }
    }
}

#[test]
fn no_part_of_an_answer_makes_a_runnable_call() {
    let suites = suites();
    let bodies = bodies(&suites);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    cut_everywhere(body);
                }
            });
        }
    });
}

struct Body<'a> {
    format: Format,
    response: &'a Response,
    /// Origin of the body.
    at: String,
}

/// Returns every body once, the largest first.
fn bodies(suites: &[Suite]) -> Vec<Body<'_>> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for suite in suites {
        let format = format_of(&suite.provider);
        for scenario in &suite.scenarios {
            for (i, exchange) in scenario.exchanges.iter().enumerate() {
                let response = &exchange.respond;
                if seen.insert((format, response.body.as_slice())) {
                    let at = format!("{}/{} exchange {}", suite.provider, scenario.name, i + 1);
                    all.push(Body { format, response, at });
                }
            }
        }
    }
    all.sort_by_key(|body| Reverse(body.response.body.len()));
    all
}

fn cut_everywhere(body: &Body<'_>) {
    let Body { format, response, at } = body;
    let bytes = &response.body;
    let whole = parse(*format, bytes).ok();
    let allowed = whole.as_ref().map(|turn| runnable(&turn.calls)).unwrap_or_default();
    let whole_at = whole_at(*format, response);
    for end in cuts(bytes.len()) {
        let Ok(turn) = parse(*format, &bytes[..end]) else { continue };
        let found = runnable(&turn.calls);
        if !turn.complete || end < whole_at {
            assert!(found.is_empty(), "{at} cut at {end} of {}: {}", bytes.len(), shown(&found));
        }
        for call in found {
            assert!(allowed.contains(&call), "{at} cut at {end}: {}", shown(&[call]));
        }
    }
}

fn shown(calls: &[(&str, &RawArgs)]) -> String {
    format!("{calls:?}").chars().take(300).collect()
}

/// Returns every offset in a body of usual size. A huge body repeats the same content and takes
/// long to read: only its first KB, its last 10 bytes, and every 20,011th byte between them.
fn cuts(length: usize) -> Vec<usize> {
    let is_usual = length <= 8 * 1024;
    let keep = |at: &usize| is_usual || *at < 1024 || at.is_multiple_of(20_011) || at + 10 > length;
    (0..length).filter(keep).collect()
}

fn runnable(calls: &[ModelCall]) -> Vec<(&str, &RawArgs)> {
    let runs = calls.iter().filter(|call| !matches!(call.args, RawArgs::Broken(_)));
    runs.map(|call| (call.name.as_str(), &call.args)).collect()
}
