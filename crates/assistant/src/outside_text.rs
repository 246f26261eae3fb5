//! Text of others in a prompt: fenced and labelled.

/// A text of others with its label. Every line of it begins with `> `, so that none can end the
/// fence or look like a heading.
#[must_use]
pub(crate) fn fenced(label: &str, body: &str) -> String {
    let lines: Vec<String> = body
        .split(is_line_end)
        .map(|line| format!("> {}", line.trim_end()).trim_end().to_owned())
        .collect();
    format!(
        "[outside text: {}]\n{}\n[end of outside text]",
        label.replace(['[', ']'], ""),
        lines.join("\n")
    )
}

/// What a program or a model may take for the end of a line.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
