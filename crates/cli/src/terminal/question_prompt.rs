//! Asks the person at the terminal a question of the model.

use std::io;

use toolcrib_agent::machine::{Question, QuestionAnswer};

use super::console::Console;
use super::style::{Style, Styler};
use super::{escape_controls, escape_to_line};

/// Shows a question and reads the answer: a number, free text, or nothing to skip it. The caller
/// must hold the console's lock.
pub(crate) async fn ask_question(
    console: &Console,
    question: &Question,
) -> io::Result<QuestionAnswer> {
    let mut desk = console.open_modal()?;
    desk.write(&render_question(question, desk.paint()))?;
    let prompt = "Your answer (a number, free text, or nothing to skip): ";
    loop {
        let answer = desk.read_line(prompt, String::new(), None).await?.unwrap_or_default();
        match parse_answer(question, answer.trim()) {
            Ok(answer) => {
                desk.finish();
                return Ok(answer);
            }
            Err(count) => desk.write(&format!(
                "  There is no option {}: type a number from 1 to {count}, or other words.\n",
                answer.trim()
            ))?,
        }
    }
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

/// Parses a typed answer; the error is the number of options, if none has the typed number. Without
/// options, a number is an answer like any other; so is a number that is the text of an option.
fn parse_answer(question: &Question, answer: &str) -> Result<QuestionAnswer, usize> {
    if answer.is_empty() {
        return Ok(QuestionAnswer::Skipped);
    }
    let options = &question.options;
    let text = match answer.parse::<usize>() {
        Ok(number) => match number.checked_sub(1).and_then(|at| options.get(at)) {
            Some(option) => option.clone(),
            None if options.is_empty() || options.iter().any(|option| option == answer) => {
                answer.to_owned()
            }
            None => return Err(options.len()),
        },
        Err(_) => answer.to_owned(),
    };
    Ok(QuestionAnswer::Answered { text })
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
                Ok(QuestionAnswer::Answered { text: text.into() })
            );
        };
        check("2", "blue");
        check("green", "green");
        check("3 of them", "3 of them");
        assert_eq!(parse_answer(&question, ""), Ok(QuestionAnswer::Skipped));
        for number in ["3", "7", "0"] {
            assert_eq!(parse_answer(&question, number), Err(2), "no option has {number}");
        }
        let open = Question { options: Vec::new(), ..question.clone() };
        let seven = QuestionAnswer::Answered { text: "7".into() };
        assert_eq!(parse_answer(&open, "7"), Ok(seven.clone()), "how many?");
        let years = Question { options: vec!["5".into(), "7".into()], ..question.clone() };
        assert_eq!(parse_answer(&years, "7"), Ok(seven), "the text of an option");
        let card = render_question(&question, Styler { colour: false });
        assert!(
            !card.contains('\u{1b}') && card.contains("  1) red 2) none\n  2) blue\n"),
            "{card}"
        );
    }
}
