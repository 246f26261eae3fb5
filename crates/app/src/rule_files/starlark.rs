//! The subset of Starlark that rule files use: calls with keyword arguments that are strings and
//! lists. Starlark is a subset of Python's syntax, and the interpreter of `code-mode` already
//! includes a parser of Python, so no parser is added (`starlark_syntax` would add 15 direct
//! dependencies).
#![deny(clippy::indexing_slicing)]

use ruff_python_ast::{Expr, Keyword, Stmt};
use ruff_python_parser::{Mode, ParseOptions, parse};
use ruff_text_size::{Ranged, TextSize};

/// Maximum nesting that is parsed. A list inside a pattern needs about ten levels; the parser
/// recurses.
const DEPTH: u16 = 32;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StarlarkValue {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
}

/// `name(key = value, …)` at the top level.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Byte offset of its start.
    pub(super) at: usize,
    /// Name of the called function.
    pub(super) name: String,
    /// Its keyword arguments, in order.
    pub(super) args: Vec<(String, StarlarkValue)>,
}

type Error = (usize, String);

/// Parses the calls of a file.
///
/// # Errors
/// Byte offset and message for anything but such calls.
pub(super) fn read(text: &str) -> Result<Vec<Call>, Error> {
    let options = ParseOptions::from(Mode::Module).with_max_recursion_depth(DEPTH);
    let parsed = parse(text, options)
        .map_err(|error| (offset(error.location.start()), error.error.to_string()))?;
    let body = parsed.into_syntax().module().map(|module| module.body).unwrap_or_default();
    body.iter().map(|statement| call(text, statement)).collect()
}

fn call(text: &str, statement: &Stmt) -> Result<Call, Error> {
    let at = offset(statement.start());
    let named = statement
        .as_expr_stmt()
        .and_then(|statement| statement.value.as_call_expr())
        .and_then(|call| Some((call.func.as_name_expr()?, &call.arguments)));
    let Some((name, arguments)) = named else {
        let word = text.get(at..).and_then(|rest| rest.split_whitespace().next());
        let word = word.unwrap_or_default();
        return Err((
            at,
            format!("`{word}` is not understood: only calls are, such as prefix_rule(…)"),
        ));
    };
    if let Some(unnamed) = arguments.args.first() {
        return Err((offset(unnamed.start()), "values are named here: key = value".to_owned()));
    }
    let args = arguments.keywords.iter().map(argument).collect::<Result<_, _>>()?;
    Ok(Call { at, name: name.id.to_string(), args })
}

fn argument(keyword: &Keyword) -> Result<(String, StarlarkValue), Error> {
    let Some(key) = &keyword.arg else {
        return Err((offset(keyword.start()), "values are named here: key = value".to_owned()));
    };
    Ok((key.id.to_string(), value(&keyword.value)?))
}

fn value(expression: &Expr) -> Result<StarlarkValue, Error> {
    match expression {
        // Starlark has neither `"a" "b"` for one string nor `u"a"`.
        Expr::StringLiteral(text)
            if !text.value.is_implicit_concatenated() && !text.value.is_unicode() =>
        {
            Ok(StarlarkValue::Text(text.value.to_str().to_owned()))
        }
        Expr::List(list) => {
            Ok(StarlarkValue::List(list.elts.iter().map(value).collect::<Result<_, _>>()?))
        }
        _ => Err((
            offset(expression.start()),
            "a string or a list of strings is expected here".to_owned(),
        )),
    }
}

fn offset(at: TextSize) -> usize {
    at.to_usize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{StarlarkValue, read};

    #[test]
    fn calls_with_strings_and_lists() {
        let text = "# rules\nprefix_rule(\n  pattern = [\"git\", ['push', r\"p\\d\"],],\n  justification = \"\"\"two\nlines\"\"\",\n)\nx()\n";
        let calls = read(text).unwrap();
        let word = |text: &str| StarlarkValue::Text(text.to_owned());
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].name, "prefix_rule");
        assert_eq!(
            calls[0].args,
            [
                (
                    "pattern".to_owned(),
                    StarlarkValue::List(vec![
                        word("git"),
                        StarlarkValue::List(vec![word("push"), word("p\\d")])
                    ])
                ),
                ("justification".to_owned(), word("two\nlines")),
            ]
        );
    }

    #[test]
    fn anything_else_is_refused_where_it_stands() {
        for (text, at) in [
            ("x = 1", 0),
            ("x = \"\"", 0),
            ("load(\"x\")", 5),
            ("f(a = [\"x\"", 10),
            ("f(a = \"x)\n", 6),
            ("f(a = 1)", 6),
            ("f(a = \"\", a = \"\")", 10),
            ("f(a = b\"x\")", 6),
            ("f(a = g())", 6),
            ("f(a = u\"x\")", 6),
            ("f(a = f\"x\")", 6),
            ("f(a = \"x\" \"y\")", 6),
            ("f(a = (\"x\", \"y\"))", 6),
            ("f(**a)", 2),
            ("def f(): pass", 0),
            ("def f", 5),
        ] {
            assert_eq!(read(text).unwrap_err().0, at, "{text}");
        }
        let deep = format!("f(a = {})", "[".repeat(100_000));
        assert!(read(&deep).is_err());
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[a-z\"'\\\\(),=\\[\\]#\n é]{0,60}") {
            let _ = read(&text);
        }
    }
}
