//! Splits the command line of a launcher into its own options and the program that it runs.

use toolcrib_mcp::client::LauncherKind;

/// Options of `npx` and `npm exec` that take a value.
const NPX: [&str; 10] = [
    "--package",
    "-p",
    "--call",
    "-c",
    "--registry",
    "--cache",
    "--userconfig",
    "--workspace",
    "-w",
    "--prefix",
];
/// Options of `uvx` that take a value.
const UVX: [&str; 34] = [
    "--from",
    "--with",
    "-w",
    "--with-editable",
    "--with-requirements",
    "--python",
    "-p",
    "--index",
    "--default-index",
    "--index-url",
    "-i",
    "--extra-index-url",
    "--find-links",
    "-f",
    "--constraints",
    "--constraint",
    "-c",
    "--overrides",
    "--override",
    "--build-constraints",
    "-b",
    "--env-file",
    "--upgrade-package",
    "-P",
    "--index-strategy",
    "--keyring-provider",
    "--resolution",
    "--prerelease",
    "--exclude-newer",
    "--link-mode",
    "--refresh-package",
    "--no-build-package",
    "--no-binary-package",
    "--config-file",
];

/// A command line of a launcher.
#[derive(Debug, PartialEq, Eq)]
pub struct LauncherArgs<'a> {
    /// The words before the options of the launcher, such as `tool run`.
    pub command: &'a [String],
    /// The options of the launcher with their values.
    pub options: Vec<&'a str>,
    /// The first word that is neither: the package, or the program of a package that an option
    /// names.
    pub program: Option<&'a str>,
}

/// Splits the arguments of a launcher. Docker is not supported, because its options have another
/// form.
#[must_use]
pub fn split(kind: LauncherKind, args: &[String]) -> LauncherArgs<'_> {
    let (commands, with_value): (&[&str], &[&str]) = match kind {
        LauncherKind::Uvx => (&["tool", "run"], &UVX),
        _ => (&["exec", "x"], &NPX),
    };
    let own = args.iter().take_while(|arg| commands.contains(&arg.as_str())).count();
    let (command, rest) = args.split_at_checked(own).unwrap_or((&[], args));
    let mut options = Vec::new();
    let mut rest = rest.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        if word == "--" {
            continue;
        }
        if !word.starts_with('-') {
            return LauncherArgs { command, options, program: Some(word) };
        }
        options.push(word);
        if with_value.contains(&word) {
            options.extend(rest.next());
        }
    }
    LauncherArgs { command, options, program: None }
}

/// Returns the value of an option: `--from X` or `--from=X`.
#[must_use]
pub fn option<'a>(options: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let pairs = options.iter().zip(options.iter().skip(1));
    let apart = pairs.filter(|(name, _)| names.contains(name)).map(|(_, value)| *value);
    let joined = options.iter().filter_map(|word| word.split_once('='));
    let joined = joined.filter(|(name, _)| names.contains(name)).map(|(_, value)| value);
    apart.chain(joined).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_the_program_begins() {
        let check = |kind, line: &str, options: &[&str], program: Option<&str>| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let found = split(kind, &args);
            assert_eq!((found.options.as_slice(), found.program), (options, program), "{line}");
        };
        let (npx, uvx) = (LauncherKind::Npx, LauncherKind::Uvx);
        check(npx, "-y @a/b@1 --flag .", &["-y"], Some("@a/b@1"));
        check(npx, "exec -y -p a -p b -- run -x", &["-y", "-p", "a", "-p", "b"], Some("run"));
        check(uvx, "tool run srv -p 80", &[], Some("srv"));
        check(
            uvx,
            "--with mcp<2 --python=3.12 srv",
            &["--with", "mcp<2", "--python=3.12"],
            Some("srv"),
        );
        check(uvx, "--from", &["--from"], None);
    }

    #[test]
    fn an_option_is_found_in_both_forms() {
        let names = ["--from"];
        assert_eq!(option(&["-q", "--from", "a"], &names), Some("a"));
        assert_eq!(option(&["--from=a==1"], &names), Some("a==1"));
        assert_eq!(option(&["--with", "a"], &names), None);
    }
}
