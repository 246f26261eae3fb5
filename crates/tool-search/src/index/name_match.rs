//! Exact names in queries: a tool that is requested by name comes first, regardless of the rest of
//! the query.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Maximum number of query words compared with names.
const MOST_WORDS: usize = 256;

/// Slots by lowercase name.
#[derive(Default)]
pub(super) struct NameIndex {
    slots: HashMap<String, Vec<u32>, RandomState>,
}

impl NameIndex {
    /// Adds a tool's name.
    pub(super) fn add(&mut self, name: String, slot: u32) {
        let slots = self.slots.entry(name).or_default();
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }

    /// Removes a tool's name.
    pub(super) fn remove(&mut self, name: &str, slot: u32) {
        if let Some(slots) = self.slots.get_mut(name) {
            slots.retain(|s| *s != slot);
            if slots.is_empty() {
                self.slots.remove(name);
            }
        }
    }

    /// Returns the tools whose names the query contains: as the whole query, in quotes, or as a
    /// word with the form of an identifier. "search" in a sentence is a verb, `search_files` is a
    /// name.
    pub(super) fn match_query(&self, query: &str) -> Vec<u32> {
        let lower = query.to_lowercase();
        let whole = std::iter::once(lower.trim());
        let words = lower.split_whitespace().take(MOST_WORDS);
        let named = words.filter_map(|word| {
            let bare = bare(word);
            (is_identifier(bare) || is_quoted(word, bare)).then_some(bare)
        });
        // Lowercasing removes the form of a camel-case name, so it is matched as written.
        let camel = query.split_whitespace().take(MOST_WORDS).map(bare).filter(|w| is_camel(w));
        let camel: Vec<String> = camel.map(str::to_lowercase).collect();
        let mut found: Vec<u32> = Vec::new();
        for name in whole.chain(named).chain(camel.iter().map(String::as_str)) {
            found.extend(self.slots.get(name).into_iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_'))
}

fn is_identifier(word: &str) -> bool {
    let inner = |c: char| matches!(c, '_' | '-' | '.' | '/' | ':');
    word.contains(inner) || word.chars().any(|c| c.is_ascii_digit())
}

fn is_camel(word: &str) -> bool {
    let mut before = ' ';
    word.chars().any(|c| {
        let hump = before.is_lowercase() && c.is_uppercase();
        before = c;
        hump
    })
}

/// Returns whether the word is enclosed in quotes or backquotes.
fn is_quoted(word: &str, bare: &str) -> bool {
    let Some((before, after)) = word.split_once(bare).filter(|_| !bare.is_empty()) else {
        return false;
    };
    let quote = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»');
    before.ends_with(quote) && after.starts_with(quote)
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    fn check(query: &str, expected: &[u32]) {
        let mut names = NameIndex::default();
        for (slot, name) in
            ["read_file", "search", "getweather", "get main characters", "web.fetch", "base64"]
                .into_iter()
                .enumerate()
        {
            names.add(name.to_owned(), slot as u32);
        }
        assert_eq!(names.match_query(query), expected, "{query}");
    }

    #[test]
    fn names_that_are_spelled_out_are_found() {
        check("use read_file on it", &[0]);
        check("call `read_file`, then web.fetch.", &[0, 4]);
        check("READ_FILE", &[0]);
        check("search", &[1]);
        check("the 'search' tool", &[1]);
        check("getWeather for Oslo", &[2]);
        check("Get main characters", &[3]);
        check("base64 of this", &[5]);
    }

    #[test]
    fn words_of_a_sentence_are_no_names() {
        check("search the web for me", &[]);
        check("please search it.", &[]);
        check("get main characters of the book", &[]);
        check("", &[]);
        check("''", &[]);
    }

    #[test]
    fn names_go_with_their_tools() {
        let mut names = NameIndex::default();
        names.add("a_b".to_owned(), 1);
        names.add("a_b".to_owned(), 2);
        names.add("a_b".to_owned(), 2);
        names.remove("a_b", 1);
        names.remove("nobody", 1);
        assert_eq!(names.match_query("a_b"), [2]);
        names.remove("a_b", 2);
        assert!(names.slots.is_empty());
    }
}
