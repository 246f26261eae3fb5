//! Safe git configuration: environment, settings and overrides that keep a repository from starting
//! programs.

use super::RepoConfig;

/// Environment variables of every command.
pub(super) const SAFE_ENV: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Objects missing in a partial clone are not fetched.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// Settings of every command; they override those of the repository.
pub(super) const SAFE_CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.askPass", ""),
    ("core.sshCommand", "ssh -o BatchMode=yes"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", ":"),
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("diff.external", ""),
    ("diff.submodule", "short"),
    ("diff.ignoreSubmodules", "dirty"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("push.recurseSubmodules", "no"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("merge.verifySignatures", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("init.templateDir", ""),
    ("init.defaultBranch", "main"),
    // The ownership check protects against programs in the configuration of foreign repositories.
    // Those are disabled here, and the owner chose the folder.
    ("safe.directory", "*"),
    ("safe.bareRepository", "explicit"),
    ("color.ui", "false"),
    ("core.quotePath", "false"),
    ("advice.detachedHead", "false"),
];

/// Author of commits if the repository sets none.
const NAME: (&str, &str) = ("user.name", "Toolcrib");
const EMAIL: (&str, &str) = ("user.email", "toolcrib@localhost");

/// Returns the settings that this repository needs in addition to [`SAFE_CONFIG`]: disabled
/// filters, the standard programs on the remote side, and a commit author.
pub(super) fn config_overrides(config: &RepoConfig) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (key, _) in &config.entries {
        let Some((section, name, last)) = parts(key) else { continue };
        let value = match (section, last) {
            ("filter", "clean" | "smudge" | "process") => "",
            ("filter", "required") => "false",
            ("remote", "receivepack") => "git-receive-pack",
            ("remote", "uploadpack") => "git-upload-pack",
            _ => continue,
        };
        settings.push((format!("{section}.{name}.{last}"), value.to_owned()));
        if section == "filter" {
            settings.push((format!("{section}.{name}.required"), "false".to_owned()));
        }
    }
    settings.sort();
    settings.dedup();
    for (key, value) in [NAME, EMAIL] {
        if !config.has(key) {
            settings.push((key.to_owned(), value.to_owned()));
        }
    }
    settings
}

/// Returns whether a remote uses a helper program (`git remote-NAME`).
pub(super) fn has_helper(config: &RepoConfig) -> bool {
    config.entries.iter().any(|(key, _)| {
        parts(key).is_some_and(|(section, _, last)| section == "remote" && last == "vcs")
    })
}

/// Splits `section.NAME.key`. Git prints section and key in lower case, and NAME as written, dots
/// included.
fn parts(key: &str) -> Option<(&str, &str, &str)> {
    let (section, rest) = key.split_once('.')?;
    let (name, last) = rest.rsplit_once('.')?;
    Some((section, name, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_name_is_switched_off_by_its_name() {
        let config = RepoConfig::read(
            b"core.bare\nfalse\0filter.a=b.c.clean\nevil\0filter.x.required\ntrue\0filter.dots.in.it.process\nevil\0remote.origin.receivepack\nevil\0user.name\nAnn\0user.email\n\0",
        );
        let settings = config_overrides(&config);
        let get = |key: &str| settings.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        assert_eq!(get("filter.a=b.c.clean"), Some(""));
        assert_eq!(get("filter.x.required"), Some("false"));
        assert_eq!(get("filter.dots.in.it.process"), Some(""));
        assert_eq!(get("filter.dots.in.it.required"), Some("false"));
        assert_eq!(get("remote.origin.receivepack"), Some("git-receive-pack"));
        assert_eq!(get("user.name"), None);
        assert_eq!(get("user.email"), Some("toolcrib@localhost"));
        assert!(!has_helper(&config));
        assert!(has_helper(&RepoConfig::read(b"remote.x.vcs\next\0")));
    }
}
