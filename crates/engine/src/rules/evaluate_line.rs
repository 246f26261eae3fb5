//! Evaluates rules for a command line: for each of its parts, and from these for the whole.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::Verdict;
use toolcrib_shell_parser::{AllowBlocker, CommandLine, Kind, OwnActionKind, Segment, Word};

use super::evaluate_command::CommandMatcher;
use super::evaluation::{Evaluation, SegmentEvaluation};
use super::floor::Floor;
use super::index::Index;
use super::matches::{CallerRules, RuleMatches};
use super::path_pattern::{Extent, MatchKind, Workspace};
use super::rule::RulePattern;

/// Programs that fetch from addresses that rules on domains do not cover.
const FETCHERS: [&str; 2] = ["curl", "wget"];

/// Reason to ask about a part that a rule matches only possibly.
const PERHAPS: &str = "as it stands it may be what the rule is about";

/// Reason to ask about a part that was not compared with every rule.
const TOO_COSTLY: &str =
    "too many of its words may begin a command for all to be compared with rules";

/// Maximum words of a program that are searched for an option that changes its folder. More words
/// count as such an option: a line may have such a program at every word.
const MAX_OPTION_WORDS: usize = 64;

/// Maximum characters of a part that a reason repeats.
const MAX_SHOWN_CHARS: usize = 200;

/// Evaluates a line. `every` is the evaluation that applies to every line.
pub(super) fn evaluate<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    line: &CommandLine,
    workspace: &Workspace,
    every: RuleMatches,
) -> Evaluation {
    let mut commands = CommandMatcher::new(&index.commands, rules);
    let place = LineContext { workspace, moves: line.segments.iter().any(moves) };
    let mut floor = Floor::new(line, workspace);
    let parts: Vec<SegmentResult> = line
        .segments
        .iter()
        .map(|segment| {
            let part = evaluate_segment(index, &mut commands, segment, &place, every);
            part.with_floor(floor.reason(segment))
        })
        .collect();
    let mut judgement = combine(rules, &parts, line, every);
    if index.hosts.iter().any(|rule| rules.get(*rule).is_some())
        && line.segments.iter().any(fetches)
    {
        judgement.reason.push_str(
            "; rules on domains say nothing about curl and wget: only the sandbox's network limits hold there",
        );
    }
    for note in concealed_words(index, rules, line, &place) {
        judgement.reason.push_str("; ");
        judgement.reason.push_str(&note);
    }
    judgement.segments = line
        .segments
        .iter()
        .zip(parts)
        .map(|(segment, part)| SegmentEvaluation {
            text: segment.text.clone(),
            verdict: part.verdict,
            rule: part.rule.and_then(|rule| rules.rule_ref(rule)).cloned(),
            reason: part.reason,
        })
        .collect();
    judgement
}

/// The evaluation of one part.
struct SegmentResult {
    verdict: Option<Verdict>,
    rule: Option<u32>,
    reason: Option<String>,
    /// Whether the line can be allowed without a rule for this part.
    is_free: bool,
    /// Whether the part asks regardless of rules.
    always_asks: bool,
    shown: String,
}

impl SegmentResult {
    /// Adds the reason to ask always, which only a deny rule overrides.
    fn with_floor(self, reason: Option<String>) -> Self {
        match reason {
            Some(reason) if self.verdict != Some(Verdict::Deny) => Self {
                verdict: Some(Verdict::Ask),
                rule: self.rule.filter(|_| self.verdict == Some(Verdict::Ask)),
                reason: Some(format!("always asks: {reason}")),
                always_asks: true,
                ..self
            },
            _ => self,
        }
    }
}

fn evaluate_segment(
    index: &Index,
    commands: &mut CommandMatcher<'_, '_>,
    segment: &Segment,
    place: &LineContext<'_>,
    every: RuleMatches,
) -> SegmentResult {
    let mut found = match &segment.kind {
        Kind::Command => commands.match_deny_or_ask(&segment.readings),
        Kind::Assignment => RuleMatches::default(),
        Kind::Redirection { writes, target } => {
            redirection(index, commands.rules, *writes, target, place)
        }
    };
    commands.rules.join(&mut found, RuleMatches { allow: None, ..every });
    let mystery = segment
        .blocks
        .iter()
        .find_map(unreadable_block)
        .or_else(|| computed(segment))
        .or_else(|| commands.is_exhausted().then(|| TOO_COSTLY.to_owned()));
    let is_free = matches!(segment.kind, Kind::Redirection { writes: false, .. });
    let (verdict, rule, reason) = match (found.verdict(), mystery) {
        (Some((Verdict::Ask, rule)), _) if found.is_uncertain() => {
            (Some(Verdict::Ask), Some(rule), Some(PERHAPS.to_owned()))
        }
        (Some((verdict, rule)), _) => (Some(verdict), Some(rule), looked_past(segment)),
        (None, Some(mystery)) => (Some(Verdict::Ask), None, Some(mystery)),
        (None, None) => allowed(commands, segment, every, is_free),
    };
    SegmentResult {
        verdict,
        rule,
        reason,
        is_free,
        always_asks: false,
        shown: shown(&segment.text),
    }
}

fn allowed(
    commands: &mut CommandMatcher<'_, '_>,
    segment: &Segment,
    every: RuleMatches,
    is_free: bool,
) -> (Option<Verdict>, Option<u32>, Option<String>) {
    if is_free {
        return (None, None, None);
    }
    let covered = match (&segment.kind, segment.blocks.first()) {
        (Kind::Command, None) => commands.match_allow(&segment.readings),
        _ => None,
    };
    match covered.or(every.allow) {
        Some(rule) => (Some(Verdict::Allow), Some(rule), None),
        None => (None, None, blocked(segment)),
    }
}

/// Evaluates rules on files for a file that a line opens.
fn redirection(
    index: &Index,
    rules: &mut CallerRules<'_>,
    writes: bool,
    target: &Word,
    place: &LineContext<'_>,
) -> RuleMatches {
    let workspace = place.workspace;
    let numbers = if writes { &index.edits } else { &index.reads };
    let mut found = RuleMatches::default();
    if numbers.is_empty() {
        return found;
    }
    let subject = match target {
        Word::Known(path) if !place.moves || path.starts_with(['/', '~']) => {
            Some(workspace.subject(path, Extent::default()))
        }
        _ => None,
    };
    let parts = subject.as_ref().and_then(|subject| subject.first_parts(workspace));
    for number in numbers.candidates(parts.as_deref()) {
        let Some(rule) = rules.get(number) else { continue };
        let RulePattern::Path(pattern) = &rule.what else { continue };
        let fit = match &subject {
            Some(subject) => pattern.match_strictly(subject, workspace),
            None if pattern.is_all() => MatchKind::Yes,
            None => MatchKind::Could,
        };
        rules.add(&mut found, number, fit);
    }
    found
}

/// Maximum words of a line that are compared with denied paths, and maximum that are named.
const MAX_COMPARED_WORDS: usize = 256;
const MAX_NAMED_WORDS: usize = 3;

/// Describes the words of a line that are denied paths: such a line runs, but its programs do not
/// find the file, or cannot change it.
fn concealed_words(
    index: &Index,
    rules: &mut CallerRules<'_>,
    line: &CommandLine,
    place: &LineContext<'_>,
) -> Vec<String> {
    if index.reads.is_empty() && index.edits.is_empty() {
        return Vec::new();
    }
    let words = line.segments.iter().filter_map(|segment| segment.readings.last());
    let words = words.flat_map(|reading| reading.args().iter());
    let mut notes = Vec::new();
    for word in words.take(MAX_COMPARED_WORDS) {
        let Word::Known(text) = word else { continue };
        let subject = place.workspace.subject(text, Extent { within: true, ..Extent::default() });
        let parts = subject.first_parts(place.workspace);
        for (paths, what) in [
            (&index.reads, "the sandbox hides it from programs"),
            (&index.edits, "programs in the sandbox cannot change it"),
        ] {
            let denying = paths.candidates(parts.as_deref()).find_map(|number| {
                let rule = rules.get(number).filter(|rule| rule.denies_paths())?;
                let RulePattern::Path(pattern) = &rule.what else { return None };
                let fit = pattern.match_strictly(&subject, place.workspace);
                (fit == MatchKind::Yes).then_some(&rule.named)
            });
            if let Some(rule) = denying {
                notes.push(format!("{} denies `{}`: {what}", rule.rule, shown(text)));
            }
            if notes.len() >= MAX_NAMED_WORDS {
                return notes;
            }
        }
    }
    notes
}

/// The workspace and folder state of a line.
struct LineContext<'a> {
    workspace: &'a Workspace,
    /// Whether the line changes the working directory: then the file of a relative path is unknown.
    moves: bool,
}

/// Returns whether a part may change the working directory of other parts or of programs that it
/// runs.
fn moves(segment: &Segment) -> bool {
    segment.readings.iter().any(|reading| match reading.program() {
        Word::Unknown(_) => false,
        Word::Known(program) => {
            let args = reading.args();
            MOVERS.contains(&program.as_str())
                || (MOVE_FOR_OTHERS.contains(&program.as_str())
                    && (args.len() > MAX_OPTION_WORDS || args.iter().any(says_where)))
        }
    })
}

/// Shell commands that change the working directory, or may change it.
const MOVERS: [&str; 6] = ["cd", "chdir", "pushd", "popd", "source", "."];
/// Programs with an option that runs others in another folder.
const MOVE_FOR_OTHERS: [&str; 8] =
    ["env", "sudo", "doas", "find", "chroot", "ssh", "systemd-run", "start-stop-daemon"];

fn says_where(argument: &Word) -> bool {
    match argument {
        Word::Known(text) => text.starts_with('-'),
        Word::Unknown(_) => true,
    }
}

/// Returns why the program of a part is unknown.
fn unreadable_block(block: &AllowBlocker) -> Option<String> {
    match block {
        AllowBlocker::ComputedName(text) => {
            Some(format!("which program `{}` runs is not known before it runs", shown(text)))
        }
        AllowBlocker::UnknownInput(name) => Some(format!(
            "what {name} runs is not known before it runs: its program comes from another command"
        )),
        AllowBlocker::Unparsed(text) => Some(format!("`{}` is not understood", shown(text))),
        AllowBlocker::Assignment(_) | AllowBlocker::Expansion(_) | AllowBlocker::Writes(_) => None,
    }
}

/// Returns why a program that another one would run is unknown.
fn computed(segment: &Segment) -> Option<String> {
    segment.readings.iter().find_map(|reading| match reading.program() {
        Word::Known(_) => None,
        Word::Unknown(text) => {
            Some(format!("which program `{}` runs is not known before it runs", shown(text)))
        }
    })
}

/// Returns why no allow rule covers a part.
fn blocked(segment: &Segment) -> Option<String> {
    if segment.kind == Kind::Assignment {
        return Some("no allow rule covers setting variables".to_owned());
    }
    if matches!(segment.kind, Kind::Redirection { writes: true, .. }) {
        return Some("no allow rule covers a file that a line writes".to_owned());
    }
    let block = segment.blocks.first().map(|block| match block {
        AllowBlocker::Assignment(text) => {
            format!("no allow rule covers a command with variables set for it: `{}`", shown(text))
        }
        AllowBlocker::Expansion(text) => format!(
            "no allow rule covers what is not known before the line runs: `{}`",
            shown(text)
        ),
        AllowBlocker::Writes(text) => {
            format!("no allow rule covers a file that a line writes: `{}`", shown(text))
        }
        AllowBlocker::ComputedName(text)
        | AllowBlocker::UnknownInput(text)
        | AllowBlocker::Unparsed(text) => {
            format!("`{}` is not known before it runs", shown(text))
        }
    });
    block.or_else(|| own_action(segment))
}

/// Returns an action of the program itself, which an allow rule must name.
fn own_action(segment: &Segment) -> Option<String> {
    let reading = segment.readings.iter().find(|reading| reading.for_allow)?;
    let action = reading.own_actions().into_iter().next()?;
    let does = match action.kind {
        OwnActionKind::Runs => "runs something by itself",
        OwnActionKind::Writes => "writes a file by itself",
        OwnActionKind::Deletes => "deletes something by itself",
    };
    Some(match reading.words().nth(action.word) {
        Some(Word::Known(text) | Word::Unknown(text)) => {
            format!("an allow rule has to name `{}`, with which the program {does}", shown(text))
        }
        None => "no allow rule covers a program that gets its commands as input".to_owned(),
    })
}

fn looked_past(segment: &Segment) -> Option<String> {
    let past = &segment.readings.iter().max_by_key(|reading| reading.unwrapped.len())?.unwrapped;
    (!past.is_empty()).then(|| format!("looked past {}", past.join(", ")))
}

fn fetches(segment: &Segment) -> bool {
    segment.readings.iter().any(|reading| {
        let Word::Known(program) = reading.program() else { return false };
        FETCHERS.contains(&program.rsplit('/').next().unwrap_or_default())
    })
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Combines the parts: one denied part denies the line, one asking part makes it ask, and it is
/// allowed if every part is.
fn combine(
    rules: &CallerRules<'_>,
    parts: &[SegmentResult],
    line: &CommandLine,
    every: RuleMatches,
) -> Evaluation {
    let of = |verdict| parts.iter().find(|part| part.verdict == Some(verdict));
    let say = |verdict: Option<Verdict>, rule: Option<u32>, reason: String| Evaluation {
        verdict,
        rule: rule.and_then(|rule| rules.rule_ref(rule)).cloned(),
        always_asks: false,
        reason,
        segments: Vec::new(),
    };
    if let Some(part) = of(Verdict::Deny) {
        return say(
            Some(Verdict::Deny),
            part.rule,
            format!("a rule denies this part: `{}`", part.shown),
        );
    }
    if let Some(rule) = every.deny {
        return say(Some(Verdict::Deny), Some(rule), "a rule denies every line".to_owned());
    }
    if let Some(part) = parts.iter().find(|part| part.always_asks) {
        let why = part.reason.as_deref().unwrap_or_default();
        let reason = format!("a person must see this part: `{}` ({why})", part.shown);
        return Evaluation { always_asks: true, ..say(Some(Verdict::Ask), part.rule, reason) };
    }
    // Prefer a part with a rule, which is more informative.
    let asks = parts.iter().find(|part| part.verdict == Some(Verdict::Ask) && part.rule.is_some());
    if let Some(part) = asks.or_else(|| of(Verdict::Ask)) {
        let why = part.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        let reason = match part.rule {
            Some(_) => format!("a rule asks about this part: `{}`{why}", part.shown),
            None => format!("a person must see this part: `{}`{why}", part.shown),
        };
        return say(Some(Verdict::Ask), part.rule, reason);
    }
    if let Some(rule) = every.ask {
        return say(Some(Verdict::Ask), Some(rule), "a rule asks about every line".to_owned());
    }
    if let Some(fault) = &line.fault {
        let reason = format!(
            "the line is not wholly understood: {} at byte {}; such a line is never allowed without a person",
            fault.what, fault.at
        );
        return say(Some(Verdict::Ask), None, reason);
    }
    let uncovered = parts.iter().find(|part| part.verdict.is_none() && !part.is_free);
    match (uncovered, of(Verdict::Allow)) {
        (None, Some(part)) => {
            say(Some(Verdict::Allow), part.rule, "rules allow every part of it".to_owned())
        }
        (Some(part), _) => {
            let why = part.reason.as_deref().unwrap_or("no rule speaks of it");
            say(None, None, format!("this part is not covered by a rule: `{}` ({why})", part.shown))
        }
        (None, None) => say(None, None, "no rule speaks of it".to_owned()),
    }
}
