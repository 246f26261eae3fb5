//! One turn at a terminal: the run, the keys typed during the turn, Ctrl-C, and the timer of the
//! indicator.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use toolcrib_agent::driver::RunControl;
use toolcrib_app::runner::RunHandles;
use toolcrib_providers::conversation::UserMessage;

use super::slash_command::{Command, Line, parse};
use super::turn_renderer::TurnRenderer;
use super::{Chat, is_paused, note};
use crate::command::run::runner_failure;
use crate::terminal::{Console, Key, Keys, apply_key, escape_to_line};

/// Interval of the indicator's animation.
const TICK: Duration = Duration::from_millis(100);

/// The state at the end of a turn.
#[derive(Default)]
pub(super) struct TurnEnd {
    /// Whether the person left the chat.
    pub(super) left: bool,
    /// Typed text that was not sent.
    pub(super) typed: String,
    /// Lines that were sent and not delivered, in order.
    pub(super) later: Vec<String>,
}

/// Runs a turn from a message to its answer.
pub(super) async fn run_turn(chat: &mut Chat, text: &str) -> TurnEnd {
    let (session, console) = (&chat.session, chat.session.console.clone());
    let control = RunControl::new();
    let shown = TurnRenderer::new(console.clone(), &chat.record, &session.agent.name);
    let person = std::sync::Arc::new(session.person());
    let surfaces = RunHandles { control: control.clone(), events: shown.sink(), person };
    let start = session.start(text, chat.conversation);
    if let Some(skill) = &start.skill {
        note(&console, &format!("skill {skill} is active for this turn"));
    }
    let mut typing = TypedLine {
        skills: chat.skills(),
        console: console.clone(),
        control: control.clone(),
        ended: TurnEnd::default(),
    };
    let running = session.runner.start(start, &surfaces);
    let mut running = std::pin::pin!(running);
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
        note(&console, "Ctrl-C cannot be heard, so nothing is begun");
        return typing.ended;
    };
    // Without access to keys, the turn still runs; only typing ahead is not possible.
    let mut keys = console.listen().ok();
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let finished = loop {
        tokio::select! {
            finished = &mut running => break finished,
            key = next_key(&mut keys) => match key {
                Some(key) => {
                    typing.key(key);
                    shown.show_typed(&typing.ended.typed);
                }
                None => keys = None,
            },
            _ = interrupts.recv() => {
                if control.is_stopped() {
                    shown.finish();
                    typing.ended.left = true;
                    return typing.ended;
                }
                control.stop();
                shown.show_stopping();
            }
            _ = clock.tick() => shown.tick(),
        }
    };
    // Process keys that were pressed at the very end.
    keys.map(Keys::take_pending).unwrap_or_default().into_iter().for_each(|key| typing.key(key));
    shown.finish();
    let mut ended = typing.ended;
    let late = control.take_messages().into_iter();
    match finished {
        Ok(finished) => {
            let left_over = finished.left_over.into_iter().chain(late).map(|message| message.text);
            if control.is_stopped() {
                // The person who stopped the turn writes the next message.
                let lines: Vec<String> = left_over.chain([ended.typed]).collect();
                ended.typed = lines.join("\n").trim().to_owned();
            } else {
                ended.later = left_over.chain(ended.later).collect();
            }
            if is_paused(&finished.driven) {
                note(&console, &format!("it goes on with `toolcrib resume {}`", finished.run));
            }
        }
        Err(error) => {
            note(&console, &runner_failure(error).message);
            ended.later = late.map(|message| message.text).chain(ended.later).collect();
        }
    }
    ended
}

async fn next_key(keys: &mut Option<Keys>) -> Option<Key> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// The text typed during a turn.
struct TypedLine {
    skills: Vec<String>,
    console: Console,
    control: RunControl,
    ended: TurnEnd,
}

impl TypedLine {
    fn key(&mut self, key: Key) {
        self.console.record_keypress();
        match key {
            Key::Enter => self.line(),
            Key::Escape => self.ended.typed.clear(),
            Key::End if self.ended.typed.is_empty() => self.queue_message("/exit"),
            key => apply_key(&mut self.ended.typed, key),
        }
    }

    fn queue_message(&mut self, line: &str) {
        note(&self.console, &format!("{line} comes after this turn"));
        self.ended.later.push(line.to_owned());
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.ended.typed);
        match parse(&line, &self.skills) {
            Line::Nothing => {}
            Line::Wrong(why) => note(&self.console, &why),
            Line::Command(Command::Stop) => self.control.stop(),
            Line::Command(_) => {
                self.queue_message(line.trim());
            }
            Line::Message(text) => {
                let shown = self
                    .console
                    .paint()
                    .dim(&format!("› {} (is given to it next)", escape_to_line(&text)));
                self.console.print_line(&shown);
                self.control.queue_message(UserMessage { text, ..UserMessage::default() });
            }
        }
    }
}
