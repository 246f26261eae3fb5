//! Style declarations that hide text, and the simple rules of a page's style sheets.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::hidden_html::attribute;
use std::collections::HashSet;

/// Distance in pixels beyond which an element counts as off-screen.
const OFF_SCREEN: f64 = -500.0;

/// Returns whether these declarations hide the text of an element.
pub(super) fn hides(declarations: &str) -> bool {
    if !declarations.contains(':') {
        return false;
    }
    let lower = declarations.to_ascii_lowercase();
    let (mut off_screen, mut positioned, mut no_size, mut clipped) = (false, false, false, false);
    let (mut color, mut background) = ("", "");
    for declaration in lower.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let value = value.split('!').next().unwrap_or("").trim();
        let number = leading_number(value);
        match name.trim() {
            "display" if value == "none" => return true,
            "visibility" if matches!(value, "hidden" | "collapse") => return true,
            "content-visibility" if value == "hidden" => return true,
            "opacity" | "font-size" | "zoom" if number.is_some_and(|n| n.abs() < 0.02) => {
                return true;
            }
            "text-indent" if number.is_some_and(|n| n <= OFF_SCREEN) => return true,
            "transform" if value.replace(' ', "").contains("scale(0)") => return true,
            "clip" => {
                let value = value.replace(' ', "");
                clipped |= value.starts_with("rect(0") || value.starts_with("rect(1px");
            }
            "clip-path" => {
                clipped |= value.contains("inset(50%") || value.contains("inset(100%");
            }
            "left" | "top" | "right" | "bottom" | "margin-left" | "margin-top" => {
                off_screen |= number.is_some_and(|n| n <= OFF_SCREEN);
            }
            "position" => positioned = matches!(value, "absolute" | "fixed" | "relative"),
            "width" | "height" | "max-height" | "max-width" | "line-height" => {
                no_size |= number.is_some_and(|n| (0.0..=1.0).contains(&n))
                    && !value.ends_with(['%', 'm'])
                    && !(name.trim() == "line-height" && number != Some(0.0));
            }
            "overflow" => clipped |= value == "hidden",
            "color" => color = value,
            "background" | "background-color" => background = value,
            _ => {}
        }
    }
    (off_screen && (positioned || !lower.contains("position")))
        || (no_size && clipped)
        || matches!(color, "transparent" | "rgba(0,0,0,0)" | "rgba(0, 0, 0, 0)")
        || (!color.is_empty() && same_color(color, background))
}

fn leading_number(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '.' | '+')));
    let number: f64 = byte_scan::text_before(value, end.unwrap_or(value.len())).parse().ok()?;
    // An em is about 16 pixels.
    Some(if value.ends_with("em") { number * 16.0 } else { number })
}

fn same_color(color: &str, background: &str) -> bool {
    let plain = |color: &str| match color {
        "white" | "#ffffff" | "#fff" | "rgb(255,255,255)" => "#fff".to_owned(),
        "black" | "#000000" | "#000" | "rgb(0,0,0)" => "#000".to_owned(),
        other => other.replace(' ', ""),
    };
    plain(color) == plain(background)
}

/// Classes and ids that a page's style sheets hide.
#[derive(Debug, Default)]
pub(super) struct HidingRules {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl HidingRules {
    /// Returns the rules of all `<style>` elements.
    pub(super) fn of_page(html: &str) -> Self {
        let mut rules = Self::default();
        let bytes = html.as_bytes();
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'<', rest)) {
            at += found + 1;
            let begins = bytes.get(at..at + 5).is_some_and(|n| n.eq_ignore_ascii_case(b"style"));
            if !begins {
                continue;
            }
            let Some(open) = memchr::memchr(b'>', bytes.get(at..).unwrap_or(&[])) else { break };
            let sheet = byte_scan::text_from(html, at + open + 1);
            let end = memchr::memmem::find(sheet.as_bytes(), b"</").unwrap_or(sheet.len());
            rules.read(byte_scan::text_before(sheet, end));
            at += open + 1 + end;
        }
        rules
    }

    /// Reads rules at the top level; those inside `@media` and similar blocks are conditional.
    fn read(&mut self, sheet: &str) {
        let (mut depth, mut from) = (0_usize, 0);
        let mut selectors = "";
        for (at, byte) in sheet.bytes().enumerate() {
            match byte {
                b'{' => {
                    if depth == 0 {
                        selectors = sheet.get(from..at).unwrap_or("");
                    }
                    depth += 1;
                    from = at + 1;
                }
                b'}' => {
                    if depth == 1 && !selectors.trim_start().starts_with('@') {
                        self.rule(selectors, sheet.get(from..at).unwrap_or(""));
                    }
                    depth = depth.saturating_sub(1);
                    from = at + 1;
                }
                b';' if depth == 0 => from = at + 1,
                _ => {}
            }
        }
    }

    fn rule(&mut self, selectors: &str, declarations: &str) {
        if !hides(declarations) {
            return;
        }
        for selector in selectors.split(',') {
            let selector = selector.rsplit("*/").next().unwrap_or("").trim();
            let is_name = |name: &str| {
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
                !name.is_empty() && name.chars().all(is_part)
            };
            if let Some(class) = selector.strip_prefix('.').filter(|name| is_name(name)) {
                self.classes.insert(class.to_owned());
            } else if let Some(id) = selector.strip_prefix('#').filter(|name| is_name(name)) {
                self.ids.insert(id.to_owned());
            }
        }
    }

    /// Returns whether an element with these attributes is hidden.
    pub(super) fn match_tag(&self, attributes: &str) -> bool {
        let has = |names: &HashSet<String>, key: &str| {
            !names.is_empty()
                && attribute(attributes, key)
                    .is_some_and(|value| value.split_whitespace().any(|one| names.contains(one)))
        };
        has(&self.classes, "class") || has(&self.ids, "id")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_hide() {
        for (style, expected) in [
            ("display:none", true),
            ("display : NONE ; color: red", true),
            ("visibility:hidden", true),
            ("opacity:0", true),
            ("opacity: .5", false),
            ("font-size:0px", true),
            ("font-size:1px", false),
            ("position:absolute;left:-9999px", true),
            ("position: absolute; top: -1000em", true),
            ("position:absolute;left:-10px", false),
            ("text-indent:-9999px", true),
            ("width:0;height:0;overflow:hidden", true),
            ("width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)", true),
            ("max-width:100%;height:auto;overflow:hidden", false),
            ("width:0;flex:1", false),
            ("line-height:1;overflow:hidden", false),
            ("color:#fff;background:white", true),
            ("color:transparent", true),
            ("color:white", false),
            ("color:white;background:#333", false),
            ("display:flex", false),
            ("none", false),
        ] {
            assert_eq!(hides(style), expected, "{style}");
        }
    }
}
