//! Colors and weights of text on a terminal that supports them.

use std::env;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) strike: bool,
    /// Color, by its number in SGR (ECMA-48 8.3.117): 31 red, 32 green, 33 yellow, 36 cyan.
    pub(crate) colour: Option<u8>,
}

impl Style {
    pub(crate) const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        colour: None,
    };
    pub(crate) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub(crate) const DIM: Self = Self { dim: true, ..Self::PLAIN };
    pub(crate) const RED: Self = Self { colour: Some(31), ..Self::PLAIN };
    pub(crate) const GREEN: Self = Self { colour: Some(32), ..Self::PLAIN };
    pub(crate) const YELLOW: Self = Self { colour: Some(33), ..Self::PLAIN };
    pub(crate) const CYAN: Self = Self { colour: Some(36), ..Self::PLAIN };

    fn codes(self) -> String {
        let flags = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.strike, 9),
        ];
        let flags = flags.into_iter().filter(|(on, _)| *on).map(|(_, code)| code);
        let codes: Vec<String> = flags.chain(self.colour).map(|code| code.to_string()).collect();
        codes.join(";")
    }
}

/// Applies styles, if the terminal supports colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Styler {
    pub(crate) colour: bool,
}

impl Styler {
    /// Creates a styler from the environment (`NO_COLOR`, `TERM=dumb`).
    pub(crate) fn from_env() -> Self {
        let says_no = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colour: !says_no && !is_dumb_terminal() }
    }

    /// Returns the text in this style.
    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        let codes = style.codes();
        if !self.colour || codes.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{codes}m{text}\u{1b}[0m")
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(Style::BOLD, text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Style::DIM, text)
    }
}

/// Returns whether the terminal does not support cursor movements.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_written_only_where_colours_are() {
        let style = Style { bold: true, ..Style::RED };
        assert_eq!(Styler { colour: true }.styled(style, "x"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(Styler { colour: true }.styled(Style::PLAIN, "x"), "x");
        assert_eq!(Styler { colour: false }.styled(style, "x"), "x");
    }
}
