//! Letters of an address that look like others (homoglyphs). They are shown, because a person who
//! approves `bоb@example.org` would not see that its `о` is Cyrillic.

/// Lists the non-ASCII letters of an address, each with its code point; `None` if there are none.
#[must_use]
pub fn unusual_letters(address: &str) -> Option<String> {
    let mut seen: Vec<char> = address.chars().filter(|c| !c.is_ascii()).collect();
    seen.sort_unstable();
    seen.dedup();
    if seen.is_empty() {
        return None;
    }
    let named: Vec<String> =
        seen.iter().take(8).map(|c| format!("{c} (U+{:04X})", u32::from(*c))).collect();
    Some(named.join(", "))
}
