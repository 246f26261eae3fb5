//! `docs/cli.md`: the help text of every command, found by asking the binary.

use anyhow::Result;

use super::binary::Binary;
use super::markdown::notice;

pub(super) fn page(binary: &Binary) -> Result<String> {
    let mut page = notice("the binary");
    page.push_str("# The command line\n");
    write(binary, &[], &mut page)?;
    Ok(page)
}

/// One command, then the commands below it.
fn write(binary: &Binary, command: &[&str], page: &mut String) -> Result<()> {
    let mut args = command.to_vec();
    args.push("--help");
    let help = binary.text(&args)?;
    let name =
        std::iter::once("toolcrib").chain(command.iter().copied()).collect::<Vec<_>>().join(" ");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for below in commands(&help) {
        write(binary, &[command, &[below]].concat(), page)?;
    }
    Ok(())
}

/// The names under `Commands:`.
fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        // A description that goes on in the next line is indented further.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_help() {
        let help = "About.\n\nUsage: x <COMMAND>\n\nCommands:\n  exec  Runs\n         more of it\n  tool  Lists\n  help  Helps\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["exec", "tool"]);
        assert!(commands("Usage: x\n\nOptions:\n  -h  Help\n").is_empty());
    }
}
