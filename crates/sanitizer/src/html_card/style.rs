//! Declarations of `style` attributes: properties of a list, values without addresses.

/// Functions of CSS that load and read no resources.
const FUNCTIONS: [&str; 14] = [
    "rgb",
    "rgba",
    "hsl",
    "hsla",
    "calc",
    "min",
    "max",
    "clamp",
    "minmax",
    "repeat",
    "linear-gradient",
    "radial-gradient",
    "conic-gradient",
    "fit-content",
];

/// Returns the declarations that are allowed; `None` if there are none.
pub(super) fn kept(style: &str) -> Option<String> {
    let mut out = String::new();
    for declaration in style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if is_allowed(&name) && is_harmless(&name, value) {
            if !out.is_empty() {
                out.push_str("; ");
            }
            out.push_str(&name);
            out.push_str(": ");
            out.push_str(value);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Properties of text, boxes and layout inside of the card. `position`, `z-index`, `transform` and
/// similar properties could draw over its surroundings.
fn is_allowed(name: &str) -> bool {
    const EXACT: [&str; 46] = [
        "align-content",
        "align-items",
        "align-self",
        "aspect-ratio",
        "background",
        "background-color",
        "border-collapse",
        "border-spacing",
        "box-shadow",
        "box-sizing",
        "color",
        "column-gap",
        "columns",
        "display",
        "flex",
        "flex-basis",
        "flex-direction",
        "flex-flow",
        "flex-grow",
        "flex-shrink",
        "flex-wrap",
        "font",
        "gap",
        "height",
        "justify-content",
        "justify-items",
        "justify-self",
        "letter-spacing",
        "line-height",
        "list-style-type",
        "max-height",
        "max-width",
        "min-height",
        "min-width",
        "object-fit",
        "opacity",
        "order",
        "overflow-wrap",
        "row-gap",
        "table-layout",
        "vertical-align",
        "white-space",
        "width",
        "word-break",
        "word-spacing",
        "overflow",
    ];
    const FAMILIES: [&str; 6] = ["border", "font-", "grid", "margin", "padding", "text-"];
    EXACT.contains(&name)
        || FAMILIES.iter().any(|family| name.starts_with(family)) && !name.ends_with("-image")
}

/// Returns whether a value contains only words, numbers and functions of the list: no quotes, no
/// escapes, no addresses.
fn is_harmless(name: &str, value: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || " #%.,+-*/()!".contains(c);
    if value.is_empty() || value.len() > 400 || !value.chars().all(fits) {
        return false;
    }
    // A negative margin draws over adjacent elements.
    if (name.starts_with("margin") || name == "text-indent") && value.contains('-') {
        return false;
    }
    value.match_indices('(').all(|(at, _)| {
        let before = value.get(..at).unwrap_or_default().trim_end();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let start = before.trim_end_matches(is_letter).len();
        let function = before.get(start..).unwrap_or_default().to_ascii_lowercase();
        function.is_empty() || FUNCTIONS.contains(&function.as_str())
    })
}
