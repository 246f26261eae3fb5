//! Puts a question of the model to the person at the terminal.

use std::io;

use toolcrib_app::agent::machine::{Question, Said};

use super::clean::{one_line, visible};
use super::console::Console;
use super::paint::{Paint, Style};

/// Shows a question and reads the answer: a number, free text, or nothing to skip it. Whoever calls has the console's seat.
pub(crate) async fn ask(console: &Console, question: &Question) -> io::Result<Said> {
    let mut desk = console.take()?;
    desk.write(&card(question, desk.paint()))?;
    let prompt = "Your answer (a number, free text, or nothing to skip): ";
    let answer = desk.line(prompt, String::new(), None).await?.unwrap_or_default();
    desk.finish();
    Ok(said(question, answer.trim()))
}

fn card(question: &Question, paint: Paint) -> String {
    let mark = paint.with(Style { bold: true, ..Style::YELLOW }, "?");
    let mut card =
        format!("\n{mark} The model asks: {}\n", paint.bold(&visible(&question.question)));
    if !question.context.is_empty() {
        card += &format!("  {}\n", visible(&question.context));
    }
    for (at, option) in question.options.iter().enumerate() {
        card += &format!("  {}) {}\n", at + 1, one_line(option));
    }
    card
}

fn said(question: &Question, answer: &str) -> Said {
    if answer.is_empty() {
        return Said::Skipped;
    }
    let place = answer.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
    let option = place.and_then(|at| question.options.get(at));
    Said::Answered { text: option.cloned().unwrap_or_else(|| answer.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_words_answer_and_nothing_skips() {
        let question = Question {
            question: "Which\u{1b}[2J one?".into(),
            context: "There are two.".into(),
            options: vec!["red\n2) none".into(), "blue".into()],
        };
        let check = |answer: &str, text: &str| {
            assert_eq!(said(&question, answer), Said::Answered { text: text.into() });
        };
        check("2", "blue");
        check("3", "3");
        check("0", "0");
        check("green", "green");
        assert_eq!(said(&question, ""), Said::Skipped);
        let card = card(&question, Paint { colour: false });
        assert!(
            !card.contains('\u{1b}') && card.contains("  1) red 2) none\n  2) blue\n"),
            "{card}"
        );
    }
}
