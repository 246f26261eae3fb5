//! Creates a working example tool.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use toolcrib_core::{NameError, ToolName};

use super::manifest::MANIFEST;

/// Why the example was not created; nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// The name is not a valid tool name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A file or folder of this name exists.
    #[error("{0:?} already exists")]
    Exists(PathBuf),
    /// Writing failed.
    #[error("{0:?} could not be written: {1}")]
    Write(PathBuf, #[source] io::Error),
}

/// Creates the folder `dir/name` with a definition and a shell program that works at once; returns
/// its path. A missing `dir` is created.
///
/// # Errors
/// [`ScaffoldError`] for an invalid or taken name, or when writing fails.
pub fn scaffold(dir: &Path, name: &str) -> Result<PathBuf, ScaffoldError> {
    let name = ToolName::local(name)?;
    let folder = dir.join(name.as_str());
    fs::create_dir_all(dir).map_err(|error| ScaffoldError::Write(dir.to_owned(), error))?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ScaffoldError::Exists(folder.clone()),
        _ => ScaffoldError::Write(folder.clone(), error),
    })?;
    let definition = DEFINITION.replace("NAME", name.as_str());
    write(&folder.join(MANIFEST), &definition, 0o644)
        .and_then(|()| write(&folder.join("run.sh"), PROGRAM, 0o755))
        .inspect_err(|_| {
            // Safe: the folder was created above and contains only its own files.
            let _ = fs::remove_dir_all(&folder);
        })?;
    Ok(folder)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), ScaffoldError> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| ScaffoldError::Write(path.to_owned(), error))
}

const DEFINITION: &str = r#"# The tool NAME. Its name is the folder's, unless the key `name` says otherwise.

# What it does, in a sentence or two: this is how a model decides when to call it.
description = "Greets a person by name, loudly if asked to."

# The program and its arguments, run in this folder. Any language will do.
command = ["./run.sh"]

# How bad a wrong call would be: safe, high (the default) or critical.
risk = "safe"

# What it may change: pure, read, idempotent, side_effect (the default) or destructive.
effect = "pure"

# How far it reaches: outbound, exec, private_read. Leave the list empty if it does none of these.
reach = []

# Longest run of one call.
timeout = "10s"

# What plain text on standard output is: text (the default), markdown, json, raw, or a media type.
output = "text"

# Its parameters. "?" = may be left out, "string[]" = an array, ["a", "b"] = one of these. JSON Schema can stand here too.
[parameters]
who = "string: Name of the person"
loud = "boolean?: Whether to shout"

# Values that the user configures; the program finds them in its environment.
# [config.GREETING_KEY]
# description = "Key of the greeting service"
# secret = true
"#;

const PROGRAM: &str = r#"#!/bin/sh
# The arguments come as one line of JSON on standard input, such as {"who":"Ada","loud":true}.
# Plain shell reads simple ones like this; for anything more use jq, Python or whatever you like.
arguments=$(cat)
who=$(printf '%s' "$arguments" | sed -n 's/.*"who" *: *"\([^"]*\)".*/\1/p')

if [ -z "$who" ]; then
    # An error that the model can act on. A program that breaks may also end with another exit code than 0.
    printf '{"error": "There is no name to greet: give a name in who."}\n'
    exit 0
fi

case $arguments in
    *'"loud":true'*) end='!!!' ;;
    *) end='.' ;;
esac

# Plain text is the answer. {"text": "…", "html": "…"} adds a card for people. What goes to standard error is shown only on failure.
printf 'Hello, %s%s\n' "$who" "$end"
"#;
