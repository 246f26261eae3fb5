//! Tests of the machine alone: table tests of the guards, and random event sequences.

use proptest::prelude::*;
use serde_json::json;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, Call, CallId, Context, ConversationId, Effect, ErrorType,
    ModelResult, Origin, Outcome, OutcomeKind, RawArgs, Reach, Report, Risk, RunId, ToolError,
    ToolName, Trust,
};
use toolcrib_providers::conversation::{Message, UserKind, UserMessage};
use toolcrib_providers::model::{FailureKind, ModelError};
use toolcrib_providers::{Format, ModelCall, Stop, Turn};

use super::*;

fn user(text: &str) -> UserMessage {
    UserMessage { text: text.to_owned(), ..UserMessage::default() }
}

fn begin(rounds: u32) -> Machine {
    Machine::begin(RunId::fresh(), ConversationId::fresh(), Vec::new(), user("go"), Some(rounds))
}

fn turn(text: &str, calls: &[&str], stop: Stop) -> Turn {
    Turn {
        format: Format::OpenAiChat,
        calls: calls
            .iter()
            .enumerate()
            .map(|(at, name)| ModelCall {
                provider_id: Some(format!("call_{at}")),
                name: (*name).to_owned(),
                args: RawArgs::Text("{}".to_owned()),
                extra: toolcrib_providers::Extra::default(),
            })
            .collect(),
        hosted: Vec::new(),
        text: text.to_owned(),
        reasoning: String::new(),
        usage: None,
        stop,
        assistant: json!({"role": "assistant", "content": text}),
        complete: true,
        notes: Vec::new(),
    }
}

fn asked_for(turn: &Turn) -> Vec<Call> {
    turn.calls
        .iter()
        .map(|call| Call { id: CallId::fresh(), name: call.name.clone(), args: call.args.clone() })
        .collect()
}

fn says(machine: &mut Machine, text: &str, calls: &[&str], stop: Stop) {
    let turn = turn(text, calls, stop);
    let calls = asked_for(&turn);
    machine.model_answered(turn, "p", "m", calls, None);
}

fn outcome(call: &Call, result: Result<ModelResult, ToolError>) -> Answer {
    let kind = match &result {
        Ok(_) => OutcomeKind::Succeeded,
        Err(error) => error.error_type.outcome(),
    };
    Answer::Done(Box::new(Outcome {
        call: call.id,
        asked: call.name.clone(),
        tool: ToolName::local(&call.name).ok(),
        kind,
        result,
        notes: Vec::new(),
        report: Report { effect: Some(Effect::Read), ..Report::default() },
        unrecorded: None,
    }))
}

fn result(value: serde_json::Value, structured: Option<serde_json::Value>) -> ModelResult {
    ModelResult {
        result: value,
        media: Vec::new(),
        for_people: Vec::new(),
        resources: Vec::new(),
        structured,
        is_error: false,
        error_type: None,
        sandbox: None,
        artifact: None,
        trust: Trust::Tool,
        source: None,
        flagged: false,
        changes: Vec::new(),
    }
}

fn ok(call: &Call, text: &str) -> Answer {
    outcome(call, Ok(result(json!(text), None)))
}

fn question(call: &Call) -> Answer {
    let question = json!({"question": "Which?", "context": "", "options": ["a", "b"]});
    let structured = json!({"status": "waiting", "question": question});
    outcome(call, Ok(result(structured.clone(), Some(structured))))
}

fn suspended(call: &Call) -> Answer {
    Answer::Suspended(Box::new(ApprovalRequest {
        question: None,
        id: ApprovalId::fresh(),
        call: call.id,
        run: None,
        tool: ToolName::local("delete_file").unwrap(),
        operation: "delete_file".into(),
        args: json!({}),
        risk: Risk::High,
        effect: Effect::Destructive,
        reach: Reach::default(),
        summary: String::new(),
        reasons: Vec::new(),
        origin: Origin::Model,
        context: Context::default(),
        definition_hash: String::new(),
        binding: String::new(),
        requested_at: 0,
        expires_at: None,
    }))
}

/// Answers every call of the newest message.
fn run(machine: &mut Machine, mut answer: impl FnMut(usize, &Call) -> Answer) {
    let NextStep::CallTools(calls) = machine.next() else { panic!("{:?}", machine.next()) };
    let answers = calls.iter().enumerate().map(|(at, call)| answer(at, call)).collect();
    machine.calls_finished(answers, |_| false);
}

fn guards(machine: &Machine) -> Vec<String> {
    let texts = machine.history().iter().filter_map(|message| match &**message {
        Message::User(message) if message.kind == UserKind::Guard => Some(message.text.clone()),
        _ => None,
    });
    texts.collect()
}

/// Each call has exactly one result, except for the calls being answered right now.
fn check(machine: &Machine) {
    let waits = matches!(machine.next(), NextStep::CallTools(_) | NextStep::AskPerson(_));
    let last = machine.history().len() - 1;
    for (at, message) in machine.history().iter().enumerate() {
        if let Message::Model(message) = &**message {
            assert_eq!(message.answers().len(), message.turn.calls.len());
            assert!(message.unanswered().next().is_none() || (waits && at == last), "{machine:#?}");
        }
    }
    if let NextStep::AskPerson(pending) = machine.next() {
        let Message::Model(message) = &**machine.history().last().unwrap() else {
            panic!("a person is asked about a message of the model")
        };
        let open: Vec<usize> = message.unanswered().collect();
        let mut waiting: Vec<usize> = pending.iter().map(|wait| wait.index).collect();
        waiting.sort_unstable();
        assert_eq!(open, waiting);
    }
    let text = serde_json::to_string(machine).unwrap();
    assert_eq!(&serde_json::from_str::<Machine>(&text).unwrap(), machine, "stored and restored");
}

#[test]
fn an_answer_ends_the_run() {
    let mut machine = begin(15);
    says(&mut machine, "hello", &[], Stop::End);
    assert_eq!(machine.next(), NextStep::Done(&RunEnd::Completed));
    assert_eq!(machine.answer(), "hello");
    for (stop, end) in [(Stop::Refused, RunEnd::Refused), (Stop::Length, RunEnd::Length)] {
        let mut machine = begin(15);
        says(&mut machine, "no", &[], stop);
        assert_eq!(machine.next(), NextStep::Done(&end));
    }
}

#[test]
fn after_the_last_round_the_model_is_asked_without_tools() {
    let mut machine = begin(3);
    for round in 0..3 {
        assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Open), "{round}");
        says(&mut machine, "", &["t"], Stop::Calls);
        run(&mut machine, |_, call| ok(call, &round.to_string()));
    }
    assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Last { end: RunEnd::RoundLimit }));
    assert_eq!(guards(&machine), [model_messages::ROUND_LIMIT]);
    // Calls in the last answer get a result without running.
    says(&mut machine, "the best I have", &["t"], Stop::Calls);
    assert_eq!(machine.next(), NextStep::Done(&RunEnd::RoundLimit));
    check(&machine);
}

#[test]
fn a_repeated_batch_ends_with_one_request_without_tools() {
    let mut machine = begin(15);
    says(&mut machine, "", &["t", "t"], Stop::Calls);
    run(&mut machine, |_, call| {
        outcome(call, Err(ToolError::new(ErrorType::RepeatedCall, "again")))
    });
    assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Last { end: RunEnd::Repeated }));
    assert_eq!(guards(&machine), [model_messages::REPEATED]);
}

#[test]
fn a_budget_that_refuses_a_call_ends_the_run_with_an_answer() {
    let mut machine = begin(15);
    says(&mut machine, "", &["t"], Stop::Calls);
    run(&mut machine, |_, call| {
        outcome(
            call,
            Err(ToolError::new(ErrorType::BudgetExceeded, "The run has used its 5 calls.")),
        )
    });
    let NextStep::CallModel(RequestMode::Last { end: RunEnd::Budget { .. } }) = machine.next()
    else {
        panic!("{:?}", machine.next())
    };
    assert!(guards(&machine)[0].starts_with("The run has used its 5 calls. No more tools"));
}

#[test]
fn standing_still_is_hinted_at_once_and_then_ends_the_run() {
    let mut machine = begin(50);
    let mut rounds = 0;
    while let NextStep::CallModel(RequestMode::Open) = machine.next() {
        says(&mut machine, "", &["t"], Stop::Calls);
        run(&mut machine, |_, call| ok(call, "always the same"));
        rounds += 1;
        assert!(rounds < 20);
    }
    assert_eq!(guards(&machine), [model_messages::STALL_HINT, model_messages::STALLED]);
    assert_eq!(rounds, 5, "one new result, two idle rounds, the hint, two more");
    // A new result in between restarts the count.
    let mut machine = begin(50);
    for round in 0..12 {
        says(&mut machine, "", &["t"], Stop::Calls);
        run(&mut machine, |_, call| ok(call, &(round / 2).to_string()));
    }
    assert_eq!(guards(&machine), Vec::<String>::new());
    // A polling tool may return the same result for a long time.
    let mut machine = begin(50);
    for _ in 0..12 {
        says(&mut machine, "", &["poll"], Stop::Calls);
        let NextStep::CallTools(calls) = machine.next() else { panic!("calls") };
        let answers = calls.iter().map(|call| ok(call, "not yet")).collect();
        machine.calls_finished(answers, |tool| tool == "poll");
    }
    assert_eq!(guards(&machine), Vec::<String>::new());
}

#[test]
fn an_empty_answer_is_asked_again_twice() {
    let mut machine = begin(15);
    for _ in 0..2 {
        says(&mut machine, " ", &[], Stop::End);
        assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Open));
    }
    says(&mut machine, "", &[], Stop::Other("MALFORMED_FUNCTION_CALL".into()));
    let NextStep::Done(RunEnd::Failed { kind: FailureKind::Unreadable, .. }) = machine.next()
    else {
        panic!("{:?}", machine.next())
    };
}

#[test]
fn a_pause_leaves_every_other_call_of_the_batch_with_its_result() {
    let mut machine = begin(15);
    says(&mut machine, "", &["read_file", "ask_user", "delete_file"], Stop::Calls);
    run(&mut machine, |at, call| match at {
        0 => ok(call, "text"),
        1 => question(call),
        _ => suspended(call),
    });
    let NextStep::AskPerson(pending) = machine.next() else { panic!("{:?}", machine.next()) };
    let pending = pending.to_vec();
    assert_eq!(pending.len(), 2);
    check(&machine);
    assert!(
        machine.question_answered(pending[0].call, &QuestionAnswer::Answered { text: "b".into() })
    );
    assert!(
        !machine.question_answered(pending[0].call, &QuestionAnswer::Skipped),
        "only the first answer counts"
    );
    let deleted = Call { id: pending[1].call, ..Call::with_text("delete_file", "{}") };
    assert!(machine.call_decided(pending[1].call, ok(&deleted, "deleted")));
    assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Open));
    let Message::User(last) = &**machine.history().last().unwrap() else {
        panic!("a user message")
    };
    assert_eq!((last.text.as_str(), last.kind), ("[Answer to: Which?] b", UserKind::Answer));
    let Message::Model(model) = &*machine.history()[1] else { panic!("the model's message") };
    let wire = &model.answers()[1].as_ref().unwrap().wire;
    assert_eq!(wire["result"]["status"], "answered");
    assert_eq!(wire["result"]["selected_option"], 2);
    check(&machine);
}

#[test]
fn the_fourth_question_of_a_run_is_not_asked() {
    let mut machine = begin(50);
    for asked in 0..4 {
        says(&mut machine, "", &["ask_user"], Stop::Calls);
        run(&mut machine, |_, call| question(call));
        match machine.next() {
            NextStep::AskPerson(pending) => {
                assert!(asked < 3);
                let call = pending[0].call;
                machine
                    .question_answered(call, &QuestionAnswer::Answered { text: asked.to_string() });
            }
            next => {
                assert_eq!((asked, next), (3, NextStep::CallModel(&RequestMode::Open)));
            }
        }
    }
}

#[test]
fn queued_messages_are_injected_at_the_next_boundary() {
    let mut machine = begin(15);
    says(&mut machine, "", &["t"], Stop::Calls);
    machine.queue(user("and also this")).unwrap();
    run(&mut machine, |_, call| ok(call, "x"));
    let Message::User(last) = &**machine.history().last().unwrap() else { panic!("user") };
    assert_eq!((last.text.as_str(), last.kind), ("and also this", UserKind::Queued));
    // A message that arrives with the final answer makes the run continue.
    machine.queue(user("wait")).unwrap();
    says(&mut machine, "done", &[], Stop::End);
    assert_eq!(machine.next(), NextStep::CallModel(&RequestMode::Open));
    says(&mut machine, "really done", &[], Stop::End);
    assert_eq!(machine.next(), NextStep::Done(&RunEnd::Completed));
    assert!(machine.queue(user("too late")).is_err(), "it is given back");
}

#[test]
fn a_stopped_request_keeps_its_partial_text() {
    let mut machine = begin(15);
    machine.model_failed(&ModelError {
        kind: FailureKind::Cancelled,
        provider: "p".into(),
        model: "m".into(),
        status: None,
        message: "stopped".into(),
        retry_after: None,
        attempts: 1,
        partial: "half a sen".into(),
    });
    assert_eq!(machine.next(), NextStep::Done(&RunEnd::Stopped));
    assert_eq!(machine.answer(), "half a sen");
}

#[test]
fn an_answer_that_took_too_long_ends_the_run_and_is_kept() {
    let mut machine = begin(15);
    let error = ModelError {
        kind: FailureKind::Cancelled,
        provider: "p".into(),
        model: "m".into(),
        status: None,
        message: "stopped".into(),
        retry_after: None,
        attempts: 1,
        partial: "half".into(),
    };
    machine.out_of_time(&error, "The run has used its time of 1 s.".into());
    let NextStep::Done(RunEnd::Budget { .. }) = machine.next() else {
        panic!("{:?}", machine.next())
    };
    assert_eq!(machine.answer(), "half");
}

#[test]
fn a_new_message_closes_what_an_earlier_run_left_open() {
    let mut machine = begin(15);
    says(&mut machine, "", &["t", "u"], Stop::Calls);
    let history = machine.history().to_vec();
    let next = Machine::begin(
        RunId::fresh(),
        ConversationId::fresh(),
        history,
        user("and now?"),
        Some(15),
    );
    check(&next);
}

/// One event of a run.
#[derive(Debug, Clone)]
enum Life {
    Say(&'static str, usize, u8),
    Fail(bool),
    Run(Vec<u8>),
    Person(u8),
    Queue,
    Stop,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        4 => (prop_oneof![Just("text"), Just("")], 0..4usize, 0..5u8)
            .prop_map(|(text, calls, stop)| Life::Say(text, calls, stop)),
        1 => any::<bool>().prop_map(Life::Fail),
        4 => prop::collection::vec(0..6u8, 0..5).prop_map(Life::Run),
        3 => (0..5u8).prop_map(Life::Person),
        1 => Just(Life::Queue),
        1 => Just(Life::Stop),
    ]
}

fn live(machine: &mut Machine, event: &Life) {
    match event {
        Life::Say(text, calls, stop) => {
            let stop = [Stop::End, Stop::Calls, Stop::Length, Stop::Paused, Stop::Refused]
                [usize::from(*stop)]
            .clone();
            says(machine, text, &["t", "u", "ask_user"][..*calls], stop);
        }
        Life::Fail(cancelled) => {
            if let NextStep::CallModel(_) = machine.next() {
                let kind =
                    if *cancelled { FailureKind::Cancelled } else { FailureKind::Connection };
                machine.model_failed(&ModelError {
                    kind,
                    provider: "p".into(),
                    model: "m".into(),
                    status: None,
                    message: "no".into(),
                    retry_after: None,
                    attempts: 1,
                    partial: "par".into(),
                });
            }
        }
        Life::Run(kinds) => {
            let NextStep::CallTools(calls) = machine.next() else { return };
            let calls = calls.to_vec();
            // Sometimes fewer answers than calls: a faulty invoker must not leave orphans.
            let answers = calls.iter().zip(kinds).map(|(call, kind)| match kind {
                0 => suspended(call),
                1 => question(call),
                2 => outcome(call, Err(ToolError::execution("broke"))),
                3 => outcome(call, Err(ToolError::new(ErrorType::RepeatedCall, "again"))),
                _ => ok(call, "fine"),
            });
            let answers = answers.collect();
            machine.calls_finished(answers, |_| false);
        }
        Life::Person(kind) => {
            let NextStep::AskPerson(pending) = machine.next() else { return };
            let Some(wait) = pending.first().cloned() else { panic!("nothing waits") };
            let call = Call { id: wait.call, ..Call::with_text("delete_file", "{}") };
            match (&wait.what, kind) {
                (_, 0) => machine.expire_pending(),
                (PendingKind::Answer(_), 1) => {
                    assert!(machine.question_answered(wait.call, &QuestionAnswer::Skipped));
                }
                (PendingKind::Answer(_), _) => {
                    assert!(machine.question_answered(
                        wait.call,
                        &QuestionAnswer::Answered { text: "a".into() }
                    ));
                }
                (PendingKind::Approval(_), 1) => {
                    assert!(machine.call_decided(wait.call, suspended(&call)));
                }
                (PendingKind::Approval(_), 2) => assert!(machine.decision_failed(wait.call, "no")),
                (PendingKind::Approval(_), _) => {
                    assert!(machine.call_decided(wait.call, ok(&call, "x")));
                }
            }
        }
        Life::Queue => drop(machine.queue(user("more"))),
        Life::Stop => machine.stop(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_call_has_exactly_one_result_whatever_happens(
        rounds in 1..5u32,
        lives in prop::collection::vec(life(), 0..40),
    ) {
        let mut machine = begin(rounds);
        for event in &lives {
            let was_over = matches!(machine.next(), NextStep::Done(_));
            let before = machine.clone();
            live(&mut machine, event);
            check(&machine);
            if was_over {
                prop_assert_eq!(&machine, &before, "what is over stays as it is");
            }
        }
        prop_assert!(machine.state().rounds <= rounds + 1);
        machine.stop();
        check(&machine);
        let is_over = matches!(machine.next(), NextStep::Done(_));
        prop_assert!(is_over);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn messages_to_a_run_are_never_lost(lives in prop::collection::vec(life(), 0..40)) {
        let mut machine = begin(3);
        let mut taken = 0;
        for event in &lives {
            match event {
                Life::Queue => taken += usize::from(machine.queue(user("more")).is_ok()),
                other => live(&mut machine, other),
            }
        }
        machine.stop();
        let said = machine.history().iter().filter(
            |message| matches!(&***message, Message::User(message) if message.kind == UserKind::Queued),
        );
        prop_assert_eq!(said.count(), taken);
    }
}

#[test]
fn a_stopped_call_keeps_its_own_id() {
    let mut machine = begin(15);
    says(&mut machine, "", &["read_file", "delete_file"], Stop::Calls);
    let NextStep::CallTools(calls) = machine.next() else { panic!("{:?}", machine.next()) };
    let ids: Vec<CallId> = calls.iter().map(|call| call.id).collect();
    let mut waiting = machine.clone();
    machine.stop();
    run(&mut waiting, |at, call| if at == 0 { ok(call, "text") } else { suspended(call) });
    waiting.stop();
    for machine in [machine, waiting] {
        let Message::Model(message) = &*machine.history()[1] else { panic!("the model's") };
        let answered: Vec<CallId> =
            message.answers().iter().map(|answer| answer.as_ref().unwrap().call).collect();
        assert_eq!(answered, ids);
    }
}
