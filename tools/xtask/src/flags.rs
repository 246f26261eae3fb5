//! The flags of a command.

use anyhow::{Result, bail};

/// Parses the flags that a command knows; anything else is an error, so that no typing mistake is
/// silently ignored.
pub(crate) fn flags<const N: usize>(args: &[String], known: [&str; N]) -> Result<[bool; N]> {
    let mut found = [false; N];
    for arg in args {
        let Some(at) = known.iter().position(|name| name == arg) else {
            bail!("unexpected argument `{arg}`; this command knows: {}", known.join(" "));
        };
        if let Some(slot) = found.get_mut(at) {
            *slot = true;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn unknown_flags_are_errors() {
        assert_eq!(flags(&args("--check"), ["--check"]).unwrap(), [true]);
        assert_eq!(flags(&[], ["--check"]).unwrap(), [false]);
        assert!(flags(&args("--chekc"), ["--check"]).is_err());
    }
}
