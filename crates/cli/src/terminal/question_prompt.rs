//! Puts a question of the model to the person at the terminal.

use std::io;

use toolcrib_app::agent::machine::{Question, QuestionAnswer};

use super::console::Console;
use super::style::{Style, Styler};
use super::{escape_controls, escape_to_line};

/// Shows a question and reads the answer: a number, free text, or nothing to skip it. The caller
/// has the console's seat.
pub(crate) async fn ask_question(
    console: &Console,
    question: &Question,
) -> io::Result<QuestionAnswer> {
    let mut desk = console.open_modal()?;
    desk.write(&render_question(question, desk.paint()))?;
    let prompt = "Your answer (a number, free text, or nothing to skip): ";
    let answer = desk.read_line(prompt, String::new(), None).await?.unwrap_or_default();
    desk.finish();
    Ok(parse_answer(question, answer.trim()))
}

fn render_question(question: &Question, paint: Styler) -> String {
    let mark = paint.styled(Style { bold: true, ..Style::YELLOW }, "?");
    let mut card =
        format!("\n{mark} The model asks: {}\n", paint.bold(&escape_controls(&question.question)));
    if !question.context.is_empty() {
        card += &format!("  {}\n", escape_controls(&question.context));
    }
    for (at, option) in question.options.iter().enumerate() {
        card += &format!("  {}) {}\n", at + 1, escape_to_line(option));
    }
    card
}

fn parse_answer(question: &Question, answer: &str) -> QuestionAnswer {
    if answer.is_empty() {
        return QuestionAnswer::Skipped;
    }
    let place = answer.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
    let option = place.and_then(|at| question.options.get(at));
    QuestionAnswer::Answered { text: option.cloned().unwrap_or_else(|| answer.to_owned()) }
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
            assert_eq!(
                parse_answer(&question, answer),
                QuestionAnswer::Answered { text: text.into() }
            );
        };
        check("2", "blue");
        check("3", "3");
        check("0", "0");
        check("green", "green");
        assert_eq!(parse_answer(&question, ""), QuestionAnswer::Skipped);
        let card = render_question(&question, Styler { colour: false });
        assert!(
            !card.contains('\u{1b}') && card.contains("  1) red 2) none\n  2) blue\n"),
            "{card}"
        );
    }
}
