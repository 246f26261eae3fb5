//! Recorded responses with calls, cut on the wire: nothing runs, whether the connection breaks or
//! closes cleanly.

use std::sync::Arc;

use futures_util::StreamExt as _;
use toolcrib_agent::machine::RunEnd;
use toolcrib_providers::http_provider::ProviderSettings;
use toolcrib_providers::model::FailureKind;
use toolcrib_providers::parse;
use toolcrib_testkit::ScriptedTool;
use toolcrib_testkit::provider_recordings::{Exchange, ReplayServer, Scenario, Suite, Tools};

use crate::recorded_traffic::{format_of, suites, tools, whole_at};
use crate::recorded_traffic_loop::{drive, model_of, settings_for};

/// Number of concurrent runs.
const AT_ONCE: usize = 8;

/// One answer and the position of the cut.
struct Cut<'a> {
    suite: &'a Suite,
    scenario: &'a Scenario,
    exchange: Exchange,
    at: usize,
    /// Whether the connection breaks; otherwise, it closes as after a complete answer.
    breaks: bool,
}

#[tokio::test]
async fn no_part_of_an_answer_runs_a_tool() {
    let (suites, tools) = (suites(), tools());
    let cuts: Vec<Cut<'_>> = suites.iter().flat_map(cuts_of).collect();
    assert!(cuts.len() > 500, "{}", cuts.len());
    let runs = futures_util::stream::iter(&cuts).map(|cut| run(cut, &tools));
    runs.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// Returns the first answer of each scenario, if it contains calls, cut inside and right after each
/// of its events.
fn cuts_of(suite: &Suite) -> Vec<Cut<'_>> {
    let mut cuts = Vec::new();
    let format = format_of(&suite.provider);
    for scenario in &suite.scenarios {
        let Some(exchange) = scenario.exchanges.first() else { continue };
        let response = &exchange.respond;
        let calls = parse(format, &response.body).map(|turn| turn.calls).unwrap_or_default();
        let is_usual = response.status == 200 && response.body.len() < 10_000;
        if calls.is_empty() || !is_usual {
            continue;
        }
        let mut places: Vec<usize> =
            response.events.iter().flat_map(|event| [event.end - 9, event.end]).collect();
        if places.is_empty() {
            places = vec![response.body.len() / 2, response.body.len() - 2];
        }
        let whole_at = whole_at(format, response);
        for (i, at) in places.into_iter().filter(|at| *at < whole_at).enumerate() {
            let (mut exchange, breaks) = (exchange.clone(), i % 3 == 0);
            let how = &mut exchange.respond.stream;
            how.delay = std::time::Duration::ZERO;
            (how.cut_after, how.end_after) =
                if breaks { (Some(at), None) } else { (None, Some(at)) };
            cuts.push(Cut { suite, scenario, exchange, at, breaks });
        }
    }
    cuts
}

async fn run(cut: &Cut<'_>, tools: &Tools) {
    let Cut { suite, scenario, exchange, at, breaks } = cut;
    let name = format!("{}/{} cut at {at}, breaks: {breaks}", suite.provider, scenario.name);
    let server = ReplayServer::start(vec![exchange.clone()]).await.unwrap();
    let settings = settings_for(suite, scenario, &server);
    let model = model_of(suite, ProviderSettings { retries: 0, ..settings });
    let offered: Vec<Arc<ScriptedTool>> =
        scenario.tools.iter().map(|name| tools.make(name).unwrap()).collect();
    let (machine, end) = drive(scenario, model, &offered, Arc::new(|_| {})).await;
    assert!(offered.iter().all(|tool| tool.runs() == 0), "{name}: a tool ran");
    let RunEnd::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
    // A complete answer that ends too early in a valid way may be reported as text that cannot be
    // read.
    let is_text = exchange.respond.events.is_empty() && !breaks;
    let is_right = kind.is_transient() || (is_text && *kind == FailureKind::Unreadable);
    assert!(is_right, "{name}: {end:?}");
    assert!(machine.history().len() <= 2, "{name}: {:?}", machine.history());
    assert_eq!(server.mismatches(), Vec::<String>::new(), "{name}");
}
