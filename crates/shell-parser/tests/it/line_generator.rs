//! Generator of command lines from a grammar, with random mutations. Their programs do not exist on
//! any system, and they name no file outside the current folder.

use proptest::prelude::*;

/// Programs that only log their arguments.
pub(crate) const PROGRAMS: [&str; 5] = ["kora", "vemi", "zuli", "pato", "qedo"];
/// Programs that log their arguments and run them, like the real programs of the same name.
pub(crate) const WRAPPERS: [&str; 8] =
    ["sudo", "env", "timeout", "nice", "nohup", "xargs", "bash", "sh"];

/// Generates a line.
pub(crate) fn line() -> impl Strategy<Value = String> {
    (list(3), any::<bool>(), changes())
        .prop_map(|(line, change, changes)| if change { changed(&line, &changes) } else { line })
}

fn program() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => quoted(prop::sample::select(&PROGRAMS[..]).prop_map(ToOwned::to_owned)),
        1 => prop::sample::select(&PROGRAMS[..]).prop_map(|name| format!("./d/{name}")),
    ]
}

/// The same text in random quotes.
fn quoted(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (text, 0..9_u8, 0..4_usize).prop_map(|(text, kind, at)| {
        let at = at.min(text.len().saturating_sub(1));
        let (front, back) = text.split_at(at);
        match kind {
            0 => format!("'{text}'"),
            1 => format!("\"{text}\""),
            2 => format!("{front}''{back}"),
            3 => format!("{front}\\{back}"),
            4 => format!("{front}\"{back}\""),
            5 => {
                let escapes: String = text.bytes().map(|b| format!("\\x{b:02x}")).collect();
                format!("$'{escapes}'")
            }
            6 => format!("{front}\\\n{back}"),
            _ => text,
        }
    })
}

fn argument(depth: u32) -> BoxedStrategy<String> {
    let plain = prop::sample::select(
        &[
            "a", "-x", "b=c", "--long=v", "a b", "x;y", "#z", "a#b", "é", "{}", "1", "~", "!", "]",
            "a&b",
        ][..],
    );
    let simple = prop_oneof![
        4 => prop::sample::select(&["a", "-x", "b=c", "--long=v", "a#b", "é", "1", "}", "in", "do", "fi", "%"][..])
            .prop_map(ToOwned::to_owned),
        3 => plain.prop_map(|text| format!("'{text}'")),
        2 => quoted(Just("word".to_owned())),
        1 => prop::sample::select(
            &[
                "{a,b}", "x{1..3}y", "{a,'b c'}", "{a", "a}", "{a}", "{,x}", "$'a\\tb'", "\"a\\$b\"", "$U", "\"$U\"",
                "${U:-d}", "\"${U}\"x", "$((1+1))", "\\ ", "\\;", "\\\\", "\"\\\\\"", "''", "\"'\"", "'\"'", "$\"x\"",
                "a\\\nb", "\"a\nb\"", "'a\nb'", "$'\\'x'", "\"\\x\"", "a=(", "a$", "$", "\"$\"", "@", "^", "-", "--",
                "!a", "{a..c}", "{3..1}", "{01..3}", "{{a,b},c}", "a{b,c}d{e,f}", "[", "[a", "?(", "a'b'\"c\"$'d'",
            ][..]
        )
        .prop_map(ToOwned::to_owned),
    ];
    if depth == 0 {
        return simple.boxed();
    }
    prop_oneof![
        8 => simple,
        1 => list(depth - 1).prop_map(|l| format!("$({l}\n)")),
        1 => list(depth - 1).prop_map(|l| format!("\"$( {l} )\"")),
        1 => list(depth - 1).prop_map(|l| format!("`{}`", l.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$"))),
        1 => list(depth - 1).prop_map(|l| format!("${{U:-$({l})}}")),
        1 => list(depth - 1).prop_map(|l| format!("<({l})")),
        1 => list(depth - 1).prop_map(|l| format!("$(( 1 + $( {l} ) 0 ))")),
    ]
    .boxed()
}

fn simple(depth: u32) -> BoxedStrategy<String> {
    let assignment = prop::sample::select(
        &["", "", "", "", "A=1 ", "A= ", "A='x y' B=2 ", "A+=1 ", "A=$U "][..],
    );
    let redirection = prop::sample::select(
        &[
            "",
            "",
            "",
            "",
            " >f",
            " 2>&1",
            " >>f 2>f",
            " <<<x",
            " <<<'a b'",
            " 2>&-",
            " &>f",
            ">|f",
            " 3<>f",
        ][..],
    );
    let first = prop::sample::select(&["", "", "", "", "", ">f ", "<<<y "][..]);
    (assignment, first, program(), prop::collection::vec(argument(depth), 0..4), redirection)
        .prop_map(|(assignment, first, program, arguments, redirection)| {
            let words = std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ");
            format!("{assignment}{first}{words}{redirection}")
        })
        .boxed()
}

fn wrapped(depth: u32) -> BoxedStrategy<String> {
    let words = prop::sample::select(
        &[
            "sudo",
            "sudo -u root",
            "sudo -n --",
            "env",
            "env A=1",
            "env -u A",
            "timeout 5",
            "timeout -s TERM 5",
            "timeout -k 1 5",
            "timeout --signal=TERM 5",
            "nice",
            "nice -n 3",
            "nice -5",
            "nohup",
            "command",
            "command -p",
            "builtin command",
            "exec",
            "time",
            "time -p",
            "xargs",
            "sudo nice",
            "eval",
            "\\sudo",
            "'env'",
        ][..],
    );
    prop_oneof![
        3 => (words, simple(depth)).prop_map(|(words, simple)| {
            // Assignments and redirections cannot follow a wrapper.
            let simple = simple.trim_start_matches(|c: char| "AB+=12$U' xy><f".contains(c)).to_owned();
            format!("{words} {simple}")
        }),
        2 => (prop::sample::select(&["bash -c", "sh -c", "bash -ec", "sudo sh -c", "eval", "bash --norc -c"][..]), list(depth.saturating_sub(1)))
            .prop_map(|(shell, list)| format!("{shell} '{}'", list.replace('\'', "'\\''"))),
        1 => list(depth.saturating_sub(1)).prop_map(|l| format!("bash <<'END'\n{l}\nEND\n")),
        1 => list(depth.saturating_sub(1)).prop_map(|l| format!("bash <<<'{}'", l.replace('\'', "'\\''"))),
        1 => list(depth.saturating_sub(1)).prop_map(|l| format!("echo '{}' | bash", l.replace('\'', "'\\''"))),
        1 => simple(0).prop_map(|s| format!("echo a -x | xargs {s}")),
        1 => list(depth.saturating_sub(1)).prop_map(|l| format!("trap '{}' EXIT", l.replace('\'', "'\\''"))),
    ]
    .boxed()
}

fn list(depth: u32) -> BoxedStrategy<String> {
    if depth == 0 {
        return simple(0);
    }
    let leaf = prop_oneof![3 => simple(depth.min(1)), 1 => wrapped(depth.min(1))].boxed();
    let inner = || list(depth - 1);
    let two = (
        inner(),
        prop::sample::select(
            &[" && ", "; ", " || ", " | ", "\n", " & ", " |& ", "&&", " ;\n", " && # c\n "][..],
        ),
        inner(),
    )
        .prop_map(|(a, operator, b)| format!("{a}{operator}{b}"));
    prop_oneof![
        5 => leaf,
        4 => two,
        1 => inner().prop_map(|l| format!("({l})")),
        1 => inner().prop_map(|l| format!("{{ {l}\n}}")),
        1 => inner().prop_map(|l| format!("{{ {l}; }} >f")),
        1 => inner().prop_map(|l| format!("! {l}")),
        1 => (inner(), inner()).prop_map(|(a, b)| format!("if {a}; then {b}; else {a}; fi")),
        1 => inner().prop_map(|l| format!("for i in 1 2; do {l}; done")),
        1 => inner().prop_map(|l| format!("until {l}; do {l}; done")),
        1 => inner().prop_map(|l| format!("case a in (b) vemi;; a|c) {l};; esac")),
        1 => inner().prop_map(|l| format!("fun() {{ {l}; }}; fun a")),
        1 => inner().prop_map(|l| format!("function fun {{ {l}; }}; fun")),
        1 => inner().prop_map(|l| format!("cat <<END && {l}\ntext $U\nEND\n")),
        1 => inner().prop_map(|l| format!("cat <<-END\n\t$({l}\n)\n\tEND\n")),
        1 => inner().prop_map(|l| format!("[[ a == a && -n b ]] && {l}")),
        1 => inner().prop_map(|l| format!("(( 1 )) && {l}")),
        1 => inner().prop_map(|l| format!("coproc {l}")),
        1 => inner().prop_map(|l| format!("A=$({l}) B=`kora`")),
        1 => inner().prop_map(|l| format!("A=(x $({l}) y)")),
        1 => inner().prop_map(|l| format!("time {{ {l}; }}")),
        1 => inner().prop_map(|l| format!("{l} # vemi z")),
    ]
    .boxed()
}

/// Positions and mutations.
type Changes = Vec<(prop::sample::Index, u8)>;

fn changes() -> impl Strategy<Value = Changes> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
}

/// Inserts, removes or duplicates characters.
fn changed(line: &str, changes: &[(prop::sample::Index, u8)]) -> String {
    const MORE: [&str; 24] = [
        "'", "\"", "\\", "`", "$", "(", ")", "{", "}", ";", "&", "|", "<", ">", "#", " ", "\n",
        "!", "=", "$(", "\\\n", "[", "]", ",",
    ];
    let mut chars: Vec<char> = line.chars().collect();
    for (index, what) in changes {
        if chars.is_empty() {
            break;
        }
        let at = index.index(chars.len());
        match what % 4 {
            0 => {
                chars.remove(at);
            }
            1 => chars.insert(at, chars[at]),
            _ => {
                let more = MORE[usize::from(*what / 4) % MORE.len()];
                chars.splice(at..at, more.chars());
            }
        }
    }
    chars.into_iter().collect()
}
