//! Name rules of agents and skills, from the Agent Skills standard.

/// Longest name, in characters (agentskills.io, `name`: 1-64).
const MAX: usize = 64;

/// Checks a name: 1-64 of `[a-z0-9-]`, no hyphen at either end, no double hyphen (agentskills.io).
///
/// # Errors
/// The problem, as a sentence fragment that begins with `name`.
pub(super) fn check(name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() {
        Err("name is empty".to_owned())
    } else if name.chars().count() > MAX {
        Err(format!("name has {} characters; at most {MAX} are allowed", name.chars().count()))
    } else if !name.bytes().all(allowed) {
        Err(format!("name \"{name}\" may hold only lower-case letters a-z, digits and hyphens"))
    } else if name.starts_with('-') || name.ends_with('-') {
        Err(format!("name \"{name}\" may not begin or end with a hyphen"))
    } else if name.contains("--") {
        Err(format!("name \"{name}\" may not have two hyphens in a row"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names() {
        for good in ["a", "pdf-processing", "a1", "1", &"a".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", "name is empty"),
            (&*"a".repeat(65), "name has 65 characters; at most 64 are allowed"),
            ("PDF", "name \"PDF\" may hold only lower-case letters a-z, digits and hyphens"),
            ("a_b", "name \"a_b\" may hold only lower-case letters a-z, digits and hyphens"),
            ("über", "name \"über\" may hold only lower-case letters a-z, digits and hyphens"),
            ("-a", "name \"-a\" may not begin or end with a hyphen"),
            ("a-", "name \"a-\" may not begin or end with a hyphen"),
            ("a--b", "name \"a--b\" may not have two hyphens in a row"),
        ] {
            assert_eq!(check(bad), Err(why.to_owned()), "{bad}");
        }
    }
}
