//! Programs in the arguments of an interpreter: those that name a critical place together with a
//! call that deletes or writes, and those that run downloaded text.
//!
//! The code is not parsed; the check searches its identifiers and literals. It does not detect a
//! path that the code builds, reads from a file or hides with an escape.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::Word;

use super::targets::{Place, Places, is_disk, is_wild, unquoted};

/// Interpreters other than shells, without the version at the end of their names.
const INTERPRETERS: [&str; 26] = [
    "python",
    "pypy",
    "ipython",
    "perl",
    "raku",
    "ruby",
    "irb",
    "jruby",
    "node",
    "nodejs",
    "tsx",
    "ts-node",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "R",
    "julia",
    "elixir",
    "groovy",
    "scala",
    "tclsh",
    "pwsh",
    "powershell",
];

/// Functions that delete, move or empty files in the languages of these interpreters.
const DELETERS: [&str; 32] = [
    "rmtree",
    "remove",
    "unlink",
    "rmdir",
    "removedirs",
    "move",
    "rename",
    "truncate",
    "rm",
    "rmSync",
    "rmdirSync",
    "unlinkSync",
    "removeSync",
    "renameSync",
    "moveSync",
    "emptyDir",
    "emptyDirSync",
    "rimraf",
    "rimrafSync",
    "remove_tree",
    "rm_r",
    "rm_f",
    "rm_rf",
    "remove_dir",
    "remove_entry",
    "remove_entry_secure",
    "remove_file",
    "delete",
    "deleteDir",
    "deleteRecursive",
    "delete_if_exists",
    "Remove",
];

/// Text functions, whose literals are not paths.
const TEXT_FUNCTIONS: [&str; 26] = [
    "split",
    "rsplit",
    "join",
    "replace",
    "strip",
    "lstrip",
    "rstrip",
    "partition",
    "rpartition",
    "startswith",
    "endswith",
    "startsWith",
    "endsWith",
    "start_with",
    "end_with",
    "find",
    "index",
    "count",
    "includes",
    "indexOf",
    "print",
    "puts",
    "log",
    "echo",
    "explode",
    "implode",
];

/// Text that indicates that only some of the files are deleted.
const FILTERS: [&str; 15] = [
    "endswith",
    "endsWith",
    "end_with",
    "suffix",
    "splitext",
    "extname",
    "fnmatch",
    "match",
    "test",
    "mtime",
    "st_mtime",
    "getmtime",
    "filemtime",
    "st_size",
    "getsize",
];

/// Expressions for the home folder and for the working directory.
const HOMES: [&str; 5] = ["homedir(", "Path.home(", "Dir.home", "HOME", "USERPROFILE"];
const FOLDERS: [&str; 4] = ["getcwd(", "cwd(", "Dir.pwd", "PWD"];

/// Maximum characters of a checked literal: more than any critical path has, and a bound for the
/// cost of code with many quotes.
const MAX_LITERAL: usize = 256;

/// Functions that fetch text, and functions that run it.
const FETCHES: [&str; 22] = [
    "urlopen",
    "urlretrieve",
    "requests",
    "httpx",
    "aiohttp",
    "fetch",
    "axios",
    "get",
    "getstore",
    "LWP",
    "URI",
    "open",
    "file_get_contents",
    "curl_init",
    "curl_exec",
    "wget",
    "curl",
    "iwr",
    "irm",
    "WebRequest",
    "RestMethod",
    "DownloadString",
];
const EVALUATES: [&str; 11] = [
    "exec",
    "eval",
    "execfile",
    "instance_eval",
    "Function",
    "runInThisContext",
    "runInNewContext",
    "loadstring",
    "iex",
    "Expression",
    "import_module",
];

/// Returns whether a program is a checked interpreter.
pub(super) fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&bare)
}

/// Returns why an interpreter with these arguments always asks.
pub(super) fn reason(_: &str, args: &[Word], places: &Places) -> Option<String> {
    args.iter().filter_map(code).find_map(|code| {
        destroyed(&code, places)
            .map(Place::loss)
            .or_else(|| written_disk(&code).map(|disk| format!("it overwrites {disk}")))
            .or_else(|| {
                let runs = fetches(&code) && has(&code, &EVALUATES);
                runs.then(|| "it runs what the line downloads".to_owned())
            })
    })
}

/// Returns the literals of code that downloads something.
pub(super) fn download_names(args: &[Word]) -> Option<Vec<String>> {
    let fetching: Vec<String> = args.iter().filter_map(code).filter(|code| fetches(code)).collect();
    let names = fetching.iter().flat_map(|code| literals(code));
    (!fetching.is_empty()).then(|| names.map(|literal| literal.text.to_owned()).collect())
}

/// Returns a word that may be code, without the quotes of the shell.
fn code(word: &Word) -> Option<String> {
    let text = match word {
        Word::Known(text) => text.clone(),
        Word::Unknown(text) => {
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inner.unwrap_or(text).replace("\\\"", "\"").replace("\\$", "$")
        }
    };
    text.contains(['(', ' ', ';', '<']).then_some(text)
}

fn fetches(code: &str) -> bool {
    code.contains("://") && has(code, &FETCHES)
}

/// Returns the critical place that the code names together with a deleting call.
fn destroyed(code: &str, places: &Places) -> Option<Place> {
    if !has(code, &DELETERS) {
        return None;
    }
    let literals = literals(code);
    let is_narrow =
        |literal: &Literal<'_>| literal.text.contains('*') && !literal.text.split('/').all(is_wild);
    let narrows = has(code, &FILTERS) || literals.iter().any(is_narrow);
    let named = literals.iter().filter(|literal| !literal.is_plain_text()).filter_map(|literal| {
        let is_variable = literal.text.starts_with(['$', '`']);
        let text = literal.text.to_owned();
        places.of(&if is_variable { Word::Unknown(text) } else { Word::Known(text) })
    });
    let mut found =
        named.chain(called(code, &HOMES, Place::Home)).chain(called(code, &FOLDERS, Place::Here));
    found.find(|place| *place != Place::Unknown && (!narrows || place.is_beyond_workspace()))
}

/// Returns the disk that code opens for writing.
fn written_disk(code: &str) -> Option<String> {
    let literals = literals(code);
    let is_mode = |text: &str| {
        text.len() <= 3
            && (text.starts_with(['w', 'a', '>']) || text.starts_with("r+") || text == "rb+")
    };
    let writes = ["write", "write_bytes", "O_WRONLY", "O_RDWR", "writeFileSync", "writeFile"];
    if !has(code, &writes) && !literals.iter().any(|literal| is_mode(literal.text)) {
        return None;
    }
    let path =
        |literal: &Literal<'_>| unquoted(literal.text.trim_start_matches(['>', '+', '<', ' ']));
    literals.iter().map(path).find(|path| is_disk(path))
}

/// Returns whether one of these names occurs in code as an identifier.
fn has(code: &str, names: &[&str]) -> bool {
    code.split(is_no_identifier).any(|name| names.contains(&name))
}

fn is_no_identifier(c: char) -> bool {
    !(c.is_alphanumeric() || c == '_')
}

/// Returns the place if code uses one of these expressions for it, unless the code joins it with a
/// path below.
fn called(code: &str, ways: &[&str], place: Place) -> Option<Place> {
    let stands_alone = |way: &str, at: usize| {
        let before = code.get(..at).unwrap_or_default();
        let after = code.get(at.saturating_add(way.len())..).unwrap_or_default();
        let goes_on =
            way.ends_with(|c| !is_no_identifier(c)) && after.starts_with(|c| !is_no_identifier(c));
        let is_whole = !before.ends_with(|c| !is_no_identifier(c)) && !goes_on;
        let after = after.trim_start_matches(['(', ')', '"', '\'', ']', '}', ' ']);
        let is_joined =
            after.starts_with(['/', '+', '.']) || (after.starts_with(',') && joins(before));
        is_whole && !is_joined && !is_shown(before)
    };
    let is_asked =
        ways.iter().any(|way| code.match_indices(way).any(|(at, _)| stands_alone(way, at)));
    is_asked.then_some(place)
}

/// Returns whether the text ends at the argument of a text function: `puts Dir.pwd`.
fn is_shown(before: &str) -> bool {
    let call = function_before(before);
    TEXT_FUNCTIONS.contains(&call.rsplit(is_no_identifier).next().unwrap_or_default())
}

/// Returns whether the text ends at the first argument of a function that joins paths.
fn joins(before: &str) -> bool {
    let call = function_before(before);
    ["join", "resolve", "joinpath", "catfile", "catdir"].iter().any(|name| call.ends_with(name))
}

/// Returns the text up to the function whose argument begins at its end.
fn function_before(before: &str) -> &str {
    // The name of a function and its receiver are short.
    let from = before.char_indices().rev().nth(63).map_or(0, |(at, _)| at);
    let receiver = |c: char| !is_no_identifier(c) || ".:$\"'[{".contains(c);
    let call = before.get(from..).unwrap_or_default().trim_end_matches(receiver);
    call.trim_end_matches(['(', ' '])
}

/// A literal in code.
struct Literal<'t> {
    before: &'t str,
    text: &'t str,
}

impl Literal<'_> {
    /// Returns whether the literal is the argument of a text function.
    fn is_plain_text(&self) -> bool {
        let call = self.before.trim_end().strip_suffix('(').unwrap_or_default();
        let name = call.rsplit(is_no_identifier).next().unwrap_or_default();
        TEXT_FUNCTIONS.contains(&name)
    }
}

/// Returns the non-empty single-line literals; `<…>` is a literal of Perl.
fn literals(code: &str) -> Vec<Literal<'_>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['\'', '"', '`', '<']) {
        let Some((quote, after)) = rest.get(at..).and_then(|rest| rest.split_at_checked(1)) else {
            break;
        };
        let end = if quote == "<" { '>' } else { quote.chars().next().unwrap_or('"') };
        let close = closing(after, end).filter(|close| {
            quote != "<" || !after.get(..*close).unwrap_or_default().contains([' ', '='])
        });
        let Some(close) = close else {
            rest = after;
            continue;
        };
        let before = code.get(..code.len().saturating_sub(after.len()).saturating_sub(1));
        let text = after.get(..close).unwrap_or_default();
        if !text.is_empty() {
            found.push(Literal { before: before.unwrap_or_default(), text });
        }
        rest = after.get(close.saturating_add(1)..).unwrap_or_default();
    }
    found
}

/// Returns the end of a literal; `None` if it does not end on its line or is too long for a path.
fn closing(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().take(MAX_LITERAL) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return Some(at),
            _ => {}
        }
    }
    None
}
