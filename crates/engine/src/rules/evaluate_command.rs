//! Evaluates rules for one command.
#![deny(clippy::indexing_slicing)]

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use toolcrib_shell_parser::{Interpretation, OwnAction, Word};

use super::command_pattern::{CommandPattern, glob_matches, glob_may_match, words_match};
use super::index::CommandRules;
use super::matches::{CallerRules, RuleMatches};
use super::path_pattern::MatchKind;
use super::prefix_trie::{Branch, Node, Trie};
use super::rule::RulePattern;

/// A word of a command as compared with deny and ask rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// Unknown before the line runs: none, one or several words.
    Hole,
}

impl Token<'_> {
    /// Returns the address of its text, which no other token of the line shares.
    fn place(&self) -> usize {
        match self {
            Token::Word(word) => word.as_ptr().addr(),
            Token::Hole => 0,
        }
    }
}

/// Placeholder for an unknown word in joined text. It occurs in no rule.
const UNKNOWN_WORD: &str = "\0";

/// Maximum bytes of text that are compared with patterns for one line: 16 times the longest line.
/// Each word of a line may begin a command that extends to the end, so without a bound 128 KiB of
/// words would be compared as 4 GiB of text.
const MAX_COMPARED_BYTES: usize = 2 * 1024 * 1024;

/// Compares the commands of one line with rules.
pub(super) struct CommandMatcher<'r, 'a> {
    index: &'a CommandRules,
    pub(super) rules: &'r mut CallerRules<'a>,
    /// For a node of the trie, a rule that could match below it.
    below: HashMap<Node, Option<u32>>,
    /// Skipped options of programs.
    scanned: HashSet<(Node, usize)>,
    /// For each pattern, the reading that it was last compared with.
    compared: Vec<u64>,
    reading: u64,
    /// Remaining bytes of [`MAX_COMPARED_BYTES`].
    bytes_left: usize,
}

impl<'r, 'a> CommandMatcher<'r, 'a> {
    pub(super) fn new(index: &'a CommandRules, rules: &'r mut CallerRules<'a>) -> Self {
        let compared = vec![0; index.strict_globs.len()];
        Self {
            index,
            rules,
            below: HashMap::new(),
            scanned: HashSet::new(),
            compared,
            reading: 0,
            bytes_left: MAX_COMPARED_BYTES,
        }
    }

    /// Returns whether the line was too costly to compare completely: then no rule allows it.
    pub(super) fn is_exhausted(&self) -> bool {
        self.bytes_left == 0
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// Returns the deny and ask rules that match any reading of a command.
    pub(super) fn match_deny_or_ask(&mut self, readings: &[Interpretation]) -> RuleMatches {
        let mut found = RuleMatches::default();
        for reading in readings {
            if self.is_exhausted() {
                break;
            }
            let rest = tokens(reading.args());
            let Word::Known(program) = reading.program() else {
                self.patterns(std::iter::once(Token::Hole).chain(rest), &mut found);
                continue;
            };
            if is_blank(program) {
                // The command begins after the skipped words, which count towards the bytes too.
                let blank = |word: &&Word| known(word).is_some_and(is_blank);
                self.spend(reading.args().iter().take_while(blank).count());
            }
            self.read_strictly(program, rest.clone(), &mut found);
            // The same program by its bare name.
            if let Some((_, bare)) = program.rsplit_once('/') {
                self.read_strictly(bare, rest, &mut found);
            }
        }
        found
    }

    fn read_strictly<'w>(
        &mut self,
        program: &'w str,
        rest: impl Tokens<'w>,
        found: &mut RuleMatches,
    ) {
        let mut all = program.split_whitespace().map(Token::Word).chain(rest);
        self.patterns(all.clone(), found);
        if let Some(Token::Word(program)) = all.next()
            && let Some(node) = self.index.strict.child(Trie::ROOT, program)
        {
            self.walk(node, all.clone(), MatchKind::Yes, found);
            self.past_options(node, all, found);
        }
    }

    /// Compares word by word; spaces inside a word separate tokens.
    fn walk<'w>(
        &mut self,
        from: Node,
        mut rest: impl Tokens<'w>,
        fit: MatchKind,
        found: &mut RuleMatches,
    ) {
        let index = self.index;
        let mut at = from;
        while let Some(branch) = index.strict.branch(at) {
            for rule in &branch.open {
                self.rules.add(found, *rule, fit);
            }
            match rest.next() {
                None => {
                    for rule in &branch.exact {
                        self.rules.add(found, *rule, fit);
                    }
                    return;
                }
                Some(Token::Word(word)) => match index.strict.child(at, word) {
                    Some(next) => at = next,
                    None => return,
                },
                Some(Token::Hole) => {
                    if rest.all(|token| token == Token::Hole) {
                        for rule in &branch.exact {
                            self.rules.add(found, *rule, MatchKind::Could);
                        }
                    }
                    if let Some(rule) = self.rule_below(at) {
                        self.rules.add(found, rule, MatchKind::Could);
                    }
                    return;
                }
            }
        }
    }

    fn rule_below(&mut self, node: Node) -> Option<u32> {
        if let Some(known) = self.below.get(&node) {
            return *known;
        }
        let rules = &mut *self.rules;
        let found = self
            .index
            .strict
            .below(node)
            .into_iter()
            .filter(|rule| rules.get(*rule).is_some())
            .min();
        self.below.insert(node, found);
        found
    }

    /// Skips options before the second word, as in `git -C folder push`: a rule may apply to the
    /// command without them.
    fn past_options<'w>(
        &mut self,
        program: Node,
        mut rest: impl Tokens<'w>,
        found: &mut RuleMatches,
    ) {
        let is_option =
            |token: &Token<'_>| matches!(token, Token::Word(word) if word.starts_with('-'));
        // Whether all words before this position, and before the next two, can be options and their
        // values.
        let (mut here, mut next, mut after) = (true, false, false);
        let mut is_first = true;
        while here || next {
            if here && !is_first {
                self.walk(program, rest.clone(), MatchKind::Could, found);
            }
            is_first = false;
            let Some(token) = rest.next() else { return };
            if here && is_option(&token) {
                // Readings share their words: another reading has already been compared from here
                // on.
                if !self.scanned.insert((program, token.place())) {
                    return;
                }
                next = true;
                after = rest.clone().next().is_some_and(|value| !is_option(&value));
            }
            (here, next, after) = (next, after, false);
        }
    }

    /// Compares with patterns that have a `*` among their words.
    fn patterns<'w>(&mut self, tokens: impl Tokens<'w>, found: &mut RuleMatches) {
        let index = self.index;
        if index.strict_globs.is_empty() {
            return;
        }
        self.reading += 1;
        let (text, words) = joined(tokens);
        self.spend(text.len().saturating_add(words));
        let hits = index.finder.iter().flat_map(|finder| {
            finder.find_overlapping_iter(&text).map(|hit| hit.pattern().as_usize())
        });
        for at in hits.chain(index.unknown_globs.iter().copied()) {
            let (Some(glob), Some(compared)) =
                (index.strict_globs.get(at), self.compared.get_mut(at))
            else {
                continue;
            };
            if *compared == self.reading {
                continue;
            }
            *compared = self.reading;
            if glob_matches(&glob.text, glob.open, &text) {
                self.rules.add(found, glob.rule, MatchKind::Yes);
            }
        }
        let (Some((head, _)), Some((_, tail))) =
            (text.split_once(UNKNOWN_WORD), text.rsplit_once(UNKNOWN_WORD))
        else {
            return;
        };
        for glob in &index.strict_globs {
            if glob_may_match(&glob.text, glob.open, head, tail) {
                self.rules.add(found, glob.rule, MatchKind::Could);
            }
        }
    }

    /// Returns the allow rule that covers a command as written, or after wrappers without an effect
    /// of their own.
    pub(super) fn match_allow(&mut self, readings: &[Interpretation]) -> Option<u32> {
        let mut found = RuleMatches::default();
        for reading in readings.iter().filter(|reading| reading.for_allow) {
            // The words that xargs adds are unknown and do not block: a rule that allows any
            // following words covers them.
            self.allow_walk(reading, &mut found);
        }
        found.allow.filter(|_| !self.is_exhausted())
    }

    fn allow_walk(&mut self, reading: &Interpretation, found: &mut RuleMatches) {
        let actions = OwnActions::new(reading);
        let index = self.index;
        let mut words = reading.words();
        let mut at = Trie::ROOT;
        for count in 0.. {
            let Some(branch) = index.allow.branch(at) else { return };
            if !branch.open.is_empty() && actions.are_named_by(count) {
                for rule in &branch.open {
                    self.rules.add(found, *rule, MatchKind::Yes);
                }
            }
            if !branch.patterns.is_empty() {
                self.allow_patterns(branch, words.clone(), &actions, found);
            }
            let Some(word) = words.next() else {
                for rule in branch.exact.iter().filter(|_| actions.are_named_by(count)) {
                    self.rules.add(found, *rule, MatchKind::Yes);
                }
                return;
            };
            match known(word).and_then(|word| index.allow.child(at, word)) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Compares patterns after the words that lead to a branch; `rest` are the following words.
    fn allow_patterns<'w>(
        &mut self,
        branch: &Branch,
        rest: impl Iterator<Item = &'w Word>,
        actions: &OwnActions<'_>,
        found: &mut RuleMatches,
    ) {
        if self.is_exhausted() {
            return;
        }
        let Some(rest) = rest.map(known).collect::<Option<Vec<&str>>>() else { return };
        self.spend(rest.iter().map(|word| word.len().saturating_add(1)).sum());
        for number in &branch.patterns {
            let Some(rule) = self.rules.get(*number) else { continue };
            let RulePattern::Command(pattern) = &rule.what else { continue };
            if goes_on(pattern, branch.depth, &rest) && actions.are_named_in(pattern) {
                self.rules.add(found, *number, MatchKind::Yes);
            }
        }
    }
}

/// Actions of a command's program that options, operands or its own language cause.
struct OwnActions<'c> {
    reading: &'c Interpretation,
    /// Computed when the first rule fits, because most commands fit none.
    actions: LazyCell<Vec<OwnAction>, Box<dyn FnOnce() -> Vec<OwnAction> + 'c>>,
}

impl<'c> OwnActions<'c> {
    fn new(reading: &'c Interpretation) -> Self {
        Self { reading, actions: LazyCell::new(Box::new(|| reading.own_actions())) }
    }

    /// Returns whether the first words of a rule name all of these actions.
    fn are_named_by(&self, count: usize) -> bool {
        self.actions.iter().all(|action| action.word < count)
    }

    /// Returns whether the words of a pattern without `*` name all of these actions.
    fn are_named_in(&self, pattern: &CommandPattern) -> bool {
        let (own, _) = pattern.words();
        self.actions.iter().all(|action| {
            let word = self.reading.words().nth(action.word).and_then(known);
            word.is_some_and(|word| own.iter().any(|own| own == word))
        })
    }
}

/// Returns whether the words after the first ones match the rest of a pattern.
fn goes_on(pattern: &CommandPattern, depth: usize, words: &[&str]) -> bool {
    let (own, open) = pattern.words();
    words_match(own.get(depth..).unwrap_or_default(), open, words)
}

fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}

/// Words as compared with deny and ask rules.
trait Tokens<'w>: Iterator<Item = Token<'w>> + Clone {}

impl<'w, I: Iterator<Item = Token<'w>> + Clone> Tokens<'w> for I {}

/// Returns the words of a command, split at spaces inside them.
fn tokens(words: &[Word]) -> impl Tokens<'_> {
    words.iter().flat_map(|word| {
        let (text, hole) = match word {
            Word::Known(text) => (text.as_str(), None),
            Word::Unknown(_) => ("", Some(Token::Hole)),
        };
        text.split_whitespace().map(Token::Word).chain(hole)
    })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the tokens as one text, and their number.
fn joined<'w>(tokens: impl Tokens<'w>) -> (String, usize) {
    let mut text = String::new();
    let mut count = 0;
    for token in tokens {
        count += 1;
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(match token {
            Token::Word(word) => word,
            Token::Hole => UNKNOWN_WORD,
        });
    }
    (text, count)
}
