//! Fences and labels untrusted text in a prompt.

/// Renders an untrusted text with its label. Every line begins with `> `, so that none can end the
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

/// Returns whether a program or a model may interpret the character as a line end.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
