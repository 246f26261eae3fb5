//! The grammar that the events of every run follow: one beginning, one end, and for every call
//! `input-streaming* input-available (approval-requested approval-responded)? output-*`, each once.

use std::collections::BTreeMap;

use toolcrib_core::{CallId, RawArgs};
use toolcrib_providers::conversation::Message;

use crate::events::{Event, ToolEvent, ToolState};
use crate::machine::{Machine, NextStep};

/// Checks the events of one process that worked on a run.
pub(super) fn check(events: &[Event], machine: &Machine) {
    let Some(Event::RunStart { resumed, .. }) = events.first() else {
        panic!("it begins with {:?}", events.first())
    };
    let starts = events.iter().filter(|event| matches!(event, Event::RunStart { .. })).count();
    let is_last = |event: &Event| matches!(event, Event::RunEnd { .. } | Event::RunPaused { .. });
    let ends = events.iter().filter(|event| is_last(event)).count();
    assert_eq!((starts, ends), (1, 1), "one beginning, one end: {events:#?}");
    assert!(events.last().is_some_and(is_last), "the end is the last: {:?}", events.last());
    let calls = by_call(events);
    for (call, states) in &calls {
        check_call(*call, states, *resumed, machine);
    }
    if !resumed {
        check_all_told(&calls, machine);
    }
    check_streamed(events);
}

fn by_call(events: &[Event]) -> BTreeMap<CallId, Vec<&ToolState>> {
    let mut calls: BTreeMap<CallId, Vec<&ToolState>> = BTreeMap::new();
    for event in events {
        if let Event::Tool(ToolEvent { call: Some(call), state, .. }) = event {
            calls.entry(*call).or_default().push(state);
        }
    }
    calls
}

fn letter(state: &ToolState) -> char {
    match state {
        ToolState::InputStreaming { .. } => 's',
        ToolState::InputAvailable { .. } => 'i',
        ToolState::Progress { .. } => 'p',
        ToolState::ApprovalRequested { .. } => 'q',
        ToolState::ApprovalResponded { .. } => 'r',
        ToolState::OutputAvailable { .. }
        | ToolState::OutputError { .. }
        | ToolState::OutputDenied { .. } => 'o',
    }
}

/// The states of a call, one letter each. Progress may come between any two of them, or not at all.
pub(super) fn word(states: &[&ToolState]) -> String {
    states.iter().map(|state| letter(state)).filter(|letter| *letter != 'p').collect()
}

fn check_call(call: CallId, states: &[&ToolState], resumed: bool, machine: &Machine) {
    let word = word(states);
    let waits = match machine.next() {
        NextStep::AskPerson(pending) => pending.iter().any(|wait| wait.call == call),
        _ => false,
    };
    let allowed: &[&str] = match (waits, resumed) {
        (true, false) => &["i", "iq"],
        (true, true) => &["", "i", "iq", "r"],
        // An approval that was withdrawn, or whose time was over, gets no response.
        (false, false) => &["io", "iqo", "iqro"],
        (false, true) => &["io", "iqo", "iqro", "o", "ro"],
    };
    assert!(allowed.contains(&word.as_str()), "{call}: {word} ({states:#?})");
}

/// Every call in the messages of the run was announced.
fn check_all_told(calls: &BTreeMap<CallId, Vec<&ToolState>>, machine: &Machine) {
    let begins = machine
        .history()
        .iter()
        .rposition(|message| matches!(&**message, Message::User(message) if message.text == "go"));
    for message in machine.history().iter().skip(begins.unwrap_or(0)) {
        let Message::Model(message) = &**message else { continue };
        for answer in message.answers().iter().flatten() {
            let told = calls.get(&answer.call).map(|states| word(states)).unwrap_or_default();
            assert!(told.ends_with('o'), "{answer:?} was told as {told:?}");
        }
    }
}

/// The streamed pieces of the arguments since the last request add up to the arguments.
fn check_streamed(events: &[Event]) {
    let mut pieces: BTreeMap<usize, String> = BTreeMap::new();
    for event in events {
        match event {
            Event::Request { .. } | Event::Retry { .. } => pieces.clear(),
            Event::Tool(ToolEvent { index, state, .. }) => match state {
                ToolState::InputStreaming { delta } => {
                    pieces.entry(*index).or_default().push_str(delta);
                }
                ToolState::InputAvailable { args: RawArgs::Text(text) } => {
                    assert_eq!(pieces.get(index), Some(text), "what was streamed of call {index}");
                }
                _ => {}
            },
            _ => {}
        }
    }
}
