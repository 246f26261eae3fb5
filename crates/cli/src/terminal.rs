//! Asks the person at the terminal. It reads the terminal itself, never standard input, which may be a model's answer.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_app::agent::machine::{Question, Said};
use toolcrib_app::core::{ApprovalRequest, Approver, Asked, BoxFuture, Decision, GrantScope, Risk};

/// One question at a time.
#[derive(Default)]
pub(crate) struct TerminalApprover {
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Approver for TerminalApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Asked> {
        Box::pin(async move {
            // Without somebody who sees the question there is nobody to answer it.
            if !io::stderr().is_terminal() {
                return Asked::Nobody;
            }
            let _turn = self.turn.lock().await;
            let request = request.clone();
            let asked = tokio::task::spawn_blocking(move || ask(&request)).await;
            match asked {
                Ok(Ok(decision)) => Asked::Decided { decision, by: "terminal".to_owned() },
                _ => Asked::Nobody,
            }
        })
    }
}

/// Shows a call and reads what becomes of it.
pub(crate) fn ask(request: &ApprovalRequest) -> io::Result<Decision> {
    let mut screen = File::options().write(true).open("/dev/tty")?;
    let mut keys = BufReader::new(File::open("/dev/tty")?);
    screen.write_all(card(request).as_bytes())?;
    loop {
        screen.write_all(
            b"Run it? [y]es once, [r]un: yes for this run, [n]o, [s]kip, [e]dit arguments: ",
        )?;
        let mut answer = String::new();
        if keys.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match answer.trim() {
            "y" | "yes" => return Ok(Decision::Approve { scope: GrantScope::Once }),
            "r" | "run" => return Ok(Decision::Approve { scope: GrantScope::Run }),
            "s" | "skip" => return Ok(Decision::Skip),
            "n" | "no" => {
                let note = prompt(&mut screen, &mut keys, "Why? (for the model, may be empty): ")?;
                return Ok(Decision::Deny { note: Some(note).filter(|note| !note.is_empty()) });
            }
            "e" | "edit" => {
                let text = prompt(&mut screen, &mut keys, "New arguments as JSON: ")?;
                match serde_json::from_str::<Value>(&text) {
                    Ok(args) => return Ok(Decision::Edit { args }),
                    Err(error) => writeln!(screen, "That is no JSON: {error}")?,
                }
            }
            _ => writeln!(screen, "Answer with y, r, n, s or e.")?,
        }
    }
}

/// Shows a question of the model and reads the answer: a number, free text, or nothing to skip it.
pub(crate) fn ask_question(question: &Question) -> io::Result<Said> {
    let mut screen = File::options().write(true).open("/dev/tty")?;
    let mut keys = BufReader::new(File::open("/dev/tty")?);
    let mut card = format!("\nThe model asks: {}\n", question.question);
    if !question.context.is_empty() {
        card += &format!("  {}\n", question.context);
    }
    for (at, option) in question.options.iter().enumerate() {
        card += &format!("  {}) {}\n", at + 1, one_line(option));
    }
    screen.write_all(toolcrib_app::text::sanitize(&card, "text/plain").text.as_bytes())?;
    let answer = prompt(&mut screen, &mut keys, "Your answer (a number, free text, or nothing to skip): ")?;
    if answer.is_empty() {
        return Ok(Said::Skipped);
    }
    let chosen = answer.parse::<usize>().ok().and_then(|at| question.options.get(at.checked_sub(1)?));
    Ok(Said::Answered { text: chosen.cloned().unwrap_or(answer) })
}

fn prompt(screen: &mut File, keys: &mut impl io::BufRead, text: &str) -> io::Result<String> {
    screen.write_all(text.as_bytes())?;
    let mut answer = String::new();
    keys.read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Everything that the decision is about, nothing shortened, nothing that could move the cursor.
fn card(request: &ApprovalRequest) -> String {
    let risk = match request.risk {
        Risk::Safe => "safe",
        Risk::High => "HIGH",
        Risk::Critical => "CRITICAL",
    };
    let reasons: Vec<&str> = request.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let card = format!(
        "\n{} wants to run: {}\n  risk: {risk}\n  why asked: {}\n  arguments: {:#}\n",
        request.tool,
        one_line(&request.summary),
        one_line(&reasons.join("; ")),
        request.args,
    );
    toolcrib_app::text::sanitize(&card, "text/plain").text.into_owned()
}

/// A path with line breaks in it must not write lines of the card.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolcrib_app::core::{ApprovalId, CallId, Context, Effect, Origin, Reach, ToolName};

    #[test]
    fn a_card_shows_all_arguments_and_nothing_that_moves_the_cursor() {
        let long = "x".repeat(5000);
        let request = ApprovalRequest {
            id: ApprovalId::fresh(),
            call: CallId::fresh(),
            run: None,
            tool: ToolName::local("delete_file").unwrap(),
            operation: "delete_file".into(),
            args: json!({"path": format!("{long}\u{1b}[2K")}),
            risk: Risk::High,
            effect: Effect::Destructive,
            reach: Reach::default(),
            summary: "delete \u{202e}txt.exe".into(),
            reasons: vec![],
            origin: Origin::Cli,
            context: Context::default(),
            definition_hash: String::new(),
            binding: String::new(),
            requested_at: 0,
            expires_at: None,
        };
        let card = card(&request);
        assert!(card.contains(&long) && card.contains("HIGH"));
        assert!(!card.contains('\u{1b}') && !card.contains('\u{202e}'), "{card:?}");
    }
}
