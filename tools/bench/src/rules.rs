//! Cost of rules: a call through the pipeline with 100 rules compared with one without, and the
//! hardest lines with 10,000 rules.

use std::hint::black_box;

use serde_json::{Value, json};
use toolcrib_core::Verdict;
use toolcrib_engine::rules::{
    Layer, MAX_COMMAND_LINE_BYTES, RuleQuery, RuleSet, RuleSource, RuleText,
};

use crate::pipeline_call;
use crate::results::Results;
use crate::timing::{cpu_ms, cpu_nanos};

/// Rules that the long lines are judged by.
const RULES: usize = 10_000;

fn rules(many: impl Iterator<Item = (Verdict, String)>) -> RuleSet {
    let written = many.enumerate().map(|(n, (effect, rule))| {
        let text: RuleText =
            serde_json::from_value(json!({"effect": effect, "rule": rule})).expect("a rule");
        RuleSource { text, layer: Layer::User, origin: format!("rules.toml:{n}") }
    });
    RuleSet::compile(written.collect()).expect("rules without faults")
}

fn rule_query<'a>(tool: &'a str, args: &'a Value) -> RuleQuery<'a> {
    RuleQuery {
        operation: tool,
        tool,
        args,
        agent: "coder",
        channel: "chat",
        workspace: "/a-workspace-that-is-not-there",
        now_ms: 0,
    }
}

/// Rules as people have them: most about commands, some about files, hosts and servers, one about
/// the tool that is called.
fn hundred() -> RuleSet {
    let of = |n: usize| match n % 5 {
        _ if n == 99 => (Verdict::Allow, "find(query:*)".to_owned()),
        0 => (Verdict::Allow, format!("Bash(program{n} run:*)")),
        1 => (Verdict::Deny, format!("Bash(program{n} delete:*)")),
        2 => (Verdict::Ask, format!("Edit(./folder{n}/**)")),
        3 => (Verdict::Deny, format!("WebFetch(domain:host{n}.example)")),
        _ => (Verdict::Allow, format!("mcp__server__tool{n}")),
    };
    rules((0..100).map(of))
}

pub(crate) fn run(table: &mut Results) {
    let set = hundred();
    calls_with_rules(table, &set);
    let args = json!({"query": "open invoices of last month", "limit": 20});
    for (what, tool) in [("that one allows", "find"), ("that none is about", "look")] {
        let nanos = cpu_nanos(9, 20_000, || {
            black_box(set.evaluate(black_box(&rule_query(tool, &args))));
        });
        table.at_most(format!("rules: a call {what}, with 100 rules"), nanos / 1000.0, "us", 1.0);
    }
    let short = json!({"command": "program0 run tests && program1 list | program5 run"});
    let nanos = cpu_nanos(9, 500, || {
        black_box(set.evaluate(black_box(&rule_query("shell", &short))));
    });
    table.figure("rules: a short command line, with 100 rules", nanos / 1000.0, "us");
    lines(table);
}

/// What 100 rules add to a call that one of them allows.
fn calls_with_rules(table: &mut Results, set: &RuleSet) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let [without, with] = [RuleSet::default(), set.clone()].map(|rules| {
        runtime.block_on(async move {
            let engine = pipeline_call::engine_with(rules).await;
            tokio::spawn(async move { pipeline_call::time_call(&engine, false).await })
                .await
                .expect("a worker")
        })
    });
    let added = (with - without) / 1000.0;
    table.at_most("rules: what 100 rules add to a call through the pipeline", added, "us", 1.0);
}

/// 10,000 rules and the longest lines that are compared with them.
///
/// A line of more than [`MAX_COMMAND_LINE_BYTES`] (128 KiB) is denied before it is parsed: rows
/// with lines of 200 KB measured only the comparison of a length, 0.007 ms where the work takes 2
/// to 75 ms. So the lines have exactly this length, each row checks that the parts of its line were
/// judged, and the last row has a line of one byte more.
fn lines(table: &mut Results) {
    let effect = |n: usize| Verdict::ALL[n % 3];
    let programs = rules((0..RULES).map(|n| (effect(n), format!("Bash(program{n} run:*)"))));
    let one = rules((0..RULES).map(|n| (effect(n), format!("Bash(git sub{n} -x:*)"))));
    let patterns = rules((0..RULES).map(|n| (Verdict::Deny, format!("Bash(* --option{n}:*)"))));
    let mixed = rules((0..RULES).map(|n| match n % 4 {
        0 => (effect(n), format!("Bash(program{n} run:*)")),
        1 => (Verdict::Deny, format!("Edit(./folder{n}/**)")),
        2 => (Verdict::Deny, format!("Read(./folder{n}/**)")),
        _ => (Verdict::Deny, format!("WebFetch(domain:host{n}.example)")),
    }));
    let compiling =
        cpu_ms(3, || rules((0..RULES).map(|n| (effect(n), format!("Bash(git sub{n}:*)")))));
    table.figure("rules: reading 10,000 rules", compiling, "ms");
    for (what, set, start, part, end) in [
        ("programs, a line of many parts", &programs, "", "program7 list x && ", "true"),
        ("programs, one long command", &programs, "program7 ", "word ", ""),
        ("sub-commands, a line of many parts", &one, "", "git sub1 -y; ", "true"),
        ("sub-commands, unknown words", &one, "", "git $X; ", "true"),
        ("sub-commands, many options", &one, "git ", "-C x ", ""),
        ("patterns, a line of many parts", &patterns, "", "make --option; ", "true"),
        ("patterns, one long command", &patterns, "make ", "--option ", ""),
        ("all kinds, a line of many files", &mixed, "", "program7 < in/a > out/b; ", "true"),
    ] {
        let args = json!({"command": longest_line(start, part, end)});
        let judged = set.evaluate(&rule_query("shell", &args));
        let bytes: usize = judged.segments.iter().map(|part| part.text.len()).sum();
        assert!(bytes > MAX_COMMAND_LINE_BYTES / 2, "{what}: only {bytes} bytes were judged");
        let ms = cpu_ms(3, || black_box(set.evaluate(&rule_query("shell", &args))));
        table.at_most(format!("rules: 10,000 about {what} of 128 KiB"), ms, "ms", 100.0);
    }
    too_long(table, &patterns);
}

/// A line of one byte more than is compared: it is denied at once.
fn too_long(table: &mut Results, set: &RuleSet) {
    let args = json!({"command": longest_line("make ", "--option ", "") + "x"});
    let judged = set.evaluate(&rule_query("shell", &args));
    assert!(judged.verdict == Some(Verdict::Deny) && judged.segments.is_empty(), "{judged:?}");
    let ms = cpu_ms(9, || black_box(set.evaluate(&rule_query("shell", &args))));
    table.at_most("rules: 10,000 about patterns, a line one byte too long", ms, "ms", 1.0);
}

/// Returns the longest line that is compared with rules: `part` as often as it fits, and blanks.
fn longest_line(start: &str, part: &str, end: &str) -> String {
    let room = MAX_COMMAND_LINE_BYTES - start.len() - end.len();
    let blanks = " ".repeat(room % part.len());
    format!("{start}{}{blanks}{end}", part.repeat(room / part.len()))
}
