//! What rules say of one command.
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

/// A word of a command as deny and ask rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// Not known before the line runs: none, one or several words.
    Hole,
}

impl Token<'_> {
    /// Where its text lies, which no other token of the line shares.
    fn place(&self) -> usize {
        match self {
            Token::Word(word) => word.as_ptr().addr(),
            Token::Hole => 0,
        }
    }
}

/// Stands for what is not known in a joined text. No rule has it in its text.
const UNKNOWN_WORD: &str = "\0";

/// Bytes of text that are compared with patterns for one line: 16 times the longest line. Each word
/// of a line may begin a command that goes on to the end, so without a bound 128 KiB of them would
/// be compared as 4 GiB of text.
const MAX_COMPARED_BYTES: usize = 2 * 1024 * 1024;

/// Judges the commands of one line.
pub(super) struct CommandMatcher<'r, 'a> {
    index: &'a CommandRules,
    pub(super) rules: &'r mut CallerRules<'a>,
    /// Of a place in the trie, a rule of what could follow there.
    below: HashMap<Node, Option<u32>>,
    /// Options of programs that were looked past.
    scanned: HashSet<(Node, usize)>,
    /// Of each pattern, the reading that it was compared with last.
    compared: Vec<u64>,
    reading: u64,
    /// Of [`MAX_COMPARED_BYTES`], how many are left.
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

    /// Whether the line was too costly to be compared completely: then no rule allows it.
    pub(super) fn is_exhausted(&self) -> bool {
        self.bytes_left == 0
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// What deny and ask rules say of a command, however it is read.
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
                // The command is what follows: words that are looked past cost as well.
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

    /// Compares word by word; blanks inside a word are looked past.
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

    /// Options before the second word, as in `git -C folder push`: perhaps it is what a rule is
    /// about.
    fn past_options<'w>(
        &mut self,
        program: Node,
        mut rest: impl Tokens<'w>,
        found: &mut RuleMatches,
    ) {
        let is_option =
            |token: &Token<'_>| matches!(token, Token::Word(word) if word.starts_with('-'));
        // Whether all words before this place, and before the next two, can be options and their
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
                // Readings share their words: from here on another one was as far already.
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

    /// The allow rule that covers a command as written, or past wrappers that change nothing.
    pub(super) fn match_allow(&mut self, readings: &[Interpretation]) -> Option<u32> {
        let mut found = RuleMatches::default();
        for reading in readings.iter().filter(|reading| reading.for_allow) {
            // What xargs adds is not known, and no block: a rule that lets anything follow covers
            // it.
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

    /// Patterns behind the words that lead to a branch; `rest` are the words after those.
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

/// What the program of a command does by options, operands or a language of its own.
struct OwnActions<'c> {
    reading: &'c Interpretation,
    /// Computed when the first rule fits, because most commands fit none.
    actions: LazyCell<Vec<OwnAction>, Box<dyn FnOnce() -> Vec<OwnAction> + 'c>>,
}

impl<'c> OwnActions<'c> {
    fn new(reading: &'c Interpretation) -> Self {
        Self { reading, actions: LazyCell::new(Box::new(|| reading.own_actions())) }
    }

    /// Whether the first words of a rule name everything that the program does by itself.
    fn are_named_by(&self, count: usize) -> bool {
        self.actions.iter().all(|action| action.word < count)
    }

    /// Whether the words of a pattern do: those without a `*`.
    fn are_named_in(&self, pattern: &CommandPattern) -> bool {
        let (own, _) = pattern.words();
        self.actions.iter().all(|action| {
            let word = self.reading.words().nth(action.word).and_then(known);
            word.is_some_and(|word| own.iter().any(|own| own == word))
        })
    }
}

/// Whether what follows the first words is what a pattern has there.
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

/// Words as deny and ask rules see them.
trait Tokens<'w>: Iterator<Item = Token<'w>> + Clone {}

impl<'w, I: Iterator<Item = Token<'w>> + Clone> Tokens<'w> for I {}

/// The words of a command, blanks inside them looked past.
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

/// The tokens as one text, and their number.
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
