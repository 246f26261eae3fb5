//! Text layout of a PDF page: assembles positioned glyphs into lines of text.
#![deny(clippy::indexing_slicing)]

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

/// Thresholds, as multiples of the font size. A step across the writing direction of more than
/// `LINE` starts a new line, of more than `PARAGRAPH` a new paragraph.
const LINE: f64 = 0.5;
const PARAGRAPH: f64 = 1.9;
/// A gap along the line that counts as a space. Kerning moves letters by a few hundredths, spaces
/// are a quarter or more, and justified text shrinks spaces by a third at most.
const BLANK: f64 = 0.15;
/// A gap that separates columns.
const COLUMN: f64 = 2.5;
/// A step back that starts a new line; smaller ones are accents or corrections.
const BACKWARD_STEP: f64 = 1.0;

/// Collects the lines of a page from its glyphs.
pub(super) struct LineBuilder {
    text: String,
    most: usize,
    last: Option<LastGlyph>,
}

/// End position and size of the last glyph.
struct LastGlyph {
    x: f64,
    y: f64,
    size: f64,
}

impl LineBuilder {
    /// Collects about `most` bytes; the last glyph may exceed them.
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), most, last: None }
    }

    /// Returns whether glyphs were dropped because the limit was reached.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() > self.most
    }

    /// Returns the text, without spaces at the ends of its lines.
    pub(super) fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.trim_matches('\n').lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Adds the space, tab, line or paragraph break between the last glyph and this one.
    fn step(&mut self, x: f64, y: f64, (ux, uy): (f64, f64), size: f64) {
        let Some(last) = &self.last else { return };
        let (dx, dy) = (x - last.x, y - last.y);
        let along = dx * ux + dy * uy;
        let across = (dy * ux - dx * uy).abs();
        let size = size.max(last.size);
        if across > LINE * size {
            self.end_line();
            if across > PARAGRAPH * size && !self.text.ends_with("\n\n") {
                self.text.push('\n');
            }
        } else if along < -BACKWARD_STEP * size {
            self.end_line();
        } else if along > COLUMN * size {
            self.gap('\t');
        } else if along > BLANK * size {
            self.gap(' ');
        }
    }

    fn end_line(&mut self) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn gap(&mut self, blank: char) {
        if !self.text.ends_with([' ', '\t', '\n']) {
            self.text.push(blank);
        }
    }

    fn push(&mut self, glyph: &str) {
        for c in glyph.chars() {
            match ligature(c) {
                Some(letters) => self.text.push_str(letters),
                None if c == ' ' || c == '\u{a0}' => self.gap(' '),
                None if c.is_control() || c == '\u{ad}' => {}
                None => self.text.push(c),
            }
        }
    }
}

impl OutputDev for LineBuilder {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        glyph: &str,
    ) -> Result<(), OutputError> {
        if self.is_full() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        let scale = at.m11.hypot(at.m12);
        let size = (at.m21.hypot(at.m22) * font_size).abs();
        if scale > 0.0 && scale.is_finite() && size > 0.0 && size.is_finite() {
            // A negative size mirrors the text; it still runs in the direction of its glyph
            // advances.
            let way = (at.m11 / scale, at.m12 / scale);
            self.step(at.m31, at.m32, way, size);
            let advance = width * font_size + spacing;
            let (x, y) = (at.m31 + at.m11 * advance, at.m32 + at.m12 * advance);
            self.last = Some(LastGlyph { x, y, size });
        }
        self.push(glyph);
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// Returns the letters of a ligature, so that a search for the word finds it.
fn ligature(c: char) -> Option<&'static str> {
    Some(match c {
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' | 'ﬆ' => "st",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out glyphs of size 10 and width 5 at the given positions.
    fn text(glyphs: &[(f64, f64, &str)]) -> String {
        let mut lines = LineBuilder::new(1000);
        for (x, y, glyph) in glyphs {
            let at = Transform::row_major(1.0, 0.0, 0.0, 1.0, *x, *y);
            lines.output_character(&at, 0.5, 0.0, 10.0, glyph).unwrap();
        }
        lines.finish()
    }

    #[test]
    fn gaps_are_blanks_columns_and_lines() {
        let check = |second: (f64, f64), expected: &str| {
            let (x, y) = second;
            assert_eq!(text(&[(0.0, 100.0, "a"), (x, y, "b")]), expected, "{second:?}");
        };
        // The first glyph ends at 5.
        check((5.0, 100.0), "ab\n");
        check((4.0, 100.0), "ab\n");
        check((6.0, 100.0), "ab\n");
        check((7.5, 100.0), "a b\n");
        check((60.0, 100.0), "a\tb\n");
        check((5.0, 103.0), "ab\n");
        check((0.0, 88.0), "a\nb\n");
        check((0.0, 70.0), "a\n\nb\n");
        check((-60.0, 100.0), "a\nb\n");
    }

    #[test]
    fn glyphs_become_the_letters_they_show() {
        assert_eq!(text(&[(0.0, 0.0, "ﬁ"), (5.0, 0.0, "n\u{ad}")]), "fin\n");
        assert_eq!(
            text(&[(0.0, 0.0, "a"), (5.0, 0.0, " "), (10.0, 0.0, " "), (15.0, 0.0, "b")]),
            "a b\n"
        );
        assert_eq!(text(&[(0.0, 0.0, "a\0\u{1b}")]), "a\n");
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn text_that_is_turned_is_read_along_its_line() {
        let mut lines = LineBuilder::new(1000);
        for (y, glyph) in [(0.0, "u"), (5.0, "p"), (12.0, "!")] {
            let at = Transform::row_major(0.0, 1.0, -1.0, 0.0, 50.0, y);
            lines.output_character(&at, 0.5, 0.0, 10.0, glyph).unwrap();
        }
        assert_eq!(lines.finish(), "up !\n");
    }

    #[test]
    fn strange_numbers_and_too_much_text_end_well() {
        let mut lines = LineBuilder::new(3);
        for number in [f64::NAN, f64::INFINITY, 0.0, 1e300] {
            let at = Transform::row_major(number, 0.0, 0.0, number, number, number);
            lines.output_character(&at, number, number, number, "x").unwrap();
        }
        let at = Transform::row_major(1.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        assert!(lines.output_character(&at, 1.0, 0.0, 1.0, "x").is_err());
        assert!(lines.is_full());
    }
}
