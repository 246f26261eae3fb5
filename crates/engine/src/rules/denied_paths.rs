//! Files and folders that deny rules exclude from a call, for the readers and writers below the
//! gates.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{DenialReach, NoPathDenials, PathAccess, PathDenials, RuleRef, Verdict};

use super::evaluation::RuleQuery;
use super::operation_classes::{self, PathAccess as Group};
use super::path_pattern::{AnchoredPattern, Workspace};
use super::rule::{Rule, RulePattern};
use super::rule_set::{RuleSet, caller};

/// The patterns of the deny rules that apply to one caller.
struct DeniedPaths {
    read: Vec<(RuleRef, AnchoredPattern)>,
    edit: Vec<(RuleRef, AnchoredPattern)>,
}

impl RuleSet {
    /// Returns the paths that rules deny to a call: those of `Read` and `Edit` rules, and of rules
    /// that name its tool. Rules without a path deny calls, not paths, and are skipped.
    #[must_use]
    pub fn denied_paths(&self, asked: &RuleQuery<'_>) -> Arc<dyn PathDenials> {
        let names = [asked.operation, asked.tool].map(operation_classes::canonical);
        let of_tool = |rule: &Rule| names.iter().any(|name| rule.target.covers(name));
        let caller = caller(asked);
        self.collect(asked.workspace, of_tool, |rule| rule.scope.holds(&caller))
    }

    /// Returns the paths that rules deny to any caller in a workspace, for a program that serves
    /// several callers.
    #[must_use]
    pub fn paths_denied_to_any(&self, workspace: &str, now_ms: i64) -> Arc<dyn PathDenials> {
        self.collect(workspace, |_| false, |rule| rule.scope.holds_for_any(workspace, now_ms))
    }

    fn collect(
        &self,
        workspace: &str,
        of_tool: impl Fn(&Rule) -> bool,
        holds: impl Fn(&Rule) -> bool,
    ) -> Arc<dyn PathDenials> {
        if !self.has_path_denials() {
            return NoPathDenials::shared();
        }
        let workspace = Workspace::new(workspace);
        let mut denied = DeniedPaths { read: Vec::new(), edit: Vec::new() };
        for rule in self.rules().iter().filter(|rule| rule.denies_paths() && holds(rule)) {
            let RulePattern::Path(pattern) = &rule.what else { continue };
            let Some(pattern) = pattern.anchored(&workspace) else { continue };
            let one = (rule.named.clone(), pattern);
            match rule.target.group() {
                Some(Group::Read) => denied.read.push(one),
                Some(Group::Edit) => denied.edit.push(one),
                Some(Group::Own) | None if of_tool(rule) => {
                    denied.read.push(one.clone());
                    denied.edit.push(one);
                }
                Some(Group::Own) | None => {}
            }
        }
        Arc::new(denied)
    }
}

impl DeniedPaths {
    fn of(&self, access: PathAccess) -> &[(RuleRef, AnchoredPattern)] {
        match access {
            PathAccess::Read => &self.read,
            PathAccess::Edit => &self.edit,
        }
    }
}

impl PathDenials for DeniedPaths {
    fn denying_rule(&self, access: PathAccess, path: &Path) -> Option<&RuleRef> {
        let found = self.of(access).iter().find(|(_, pattern)| pattern.is_about(path));
        found.map(|(rule, _)| rule)
    }

    fn reach_into(&self, access: PathAccess, folder: &Path) -> DenialReach {
        let all = self.of(access).iter().map(|(_, pattern)| pattern.reach_into(folder));
        all.max().unwrap_or(DenialReach::Nothing)
    }

    fn scopes(&self) -> Vec<(&RuleRef, PathBuf)> {
        let all = self.read.iter().chain(&self.edit);
        all.flat_map(|(rule, pattern)| pattern.scopes().map(move |scope| (rule, scope))).collect()
    }
}

impl Rule {
    /// Returns whether the rule denies single paths, not whole calls.
    pub(super) fn denies_paths(&self) -> bool {
        let is_path = matches!(&self.what, RulePattern::Path(pattern) if !pattern.is_all());
        self.effect == Verdict::Deny && is_path
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rules::{Layer, RuleSource, RuleText};

    fn rules(written: &[&str]) -> RuleSet {
        let source = |(at, rule): (usize, &&str)| RuleSource {
            text: RuleText::new(Verdict::Deny, *rule),
            layer: Layer::User,
            origin: format!("/etc/toolcrib/rules.toml:{at}"),
        };
        RuleSet::compile(written.iter().enumerate().map(source).collect()).unwrap()
    }

    fn denied(written: &[&str], operation: &str) -> Arc<dyn PathDenials> {
        rules(written).denied_paths(&RuleQuery {
            operation,
            tool: operation,
            args: &Value::Null,
            agent: "",
            channel: "chat",
            workspace: "/ws",
            now_ms: 0,
        })
    }

    #[test]
    fn reach_of_patterns() {
        use DenialReach::{Everything, Nothing, Something};
        for (rule, folder, expected) in [
            ("Read(./secrets/**)", "/ws", Something),
            ("Read(./secrets/**)", "/ws/secrets", Everything),
            ("Read(./secrets/**)", "/ws/src", Nothing),
            ("Read(./secrets/*)", "/ws/secrets", Everything),
            ("Read(./secrets/?)", "/ws/secrets", Something),
            ("Read(./secrets)", "/ws", Something),
            ("Read(./secrets)", "/ws/secrets", Everything),
            ("Read(*.pem)", "/ws/a/b", Something),
            ("Read(*)", "/ws", Everything),
            ("Read(./.env*)", "/ws", Something),
            ("Read(./.env*)", "/ws/a", Nothing),
            ("Read(./a/*/c)", "/ws/a/b", Something),
            ("Read(./a/*/c)", "/ws/a/b/d", Nothing),
            ("Read(./a/**/c)", "/ws/a/b/d", Something),
            ("Read(//etc/x/**)", "/ws", Nothing),
            ("Read(//etc/x/**)", "/etc", Something),
            ("Edit(./a/**)", "/ws/a", Nothing),
        ] {
            let reach =
                denied(&[rule], "code_search").reach_into(PathAccess::Read, folder.as_ref());
            assert_eq!(reach, expected, "{rule} {folder}");
        }
    }

    #[test]
    fn paths_of_rules() {
        let check = |rule: &str, operation: &str, path: &str, expected: bool| {
            let denied = denied(&[rule], operation);
            let found = denied.denying_rule(PathAccess::Read, path.as_ref());
            assert_eq!(found.is_some(), expected, "{rule} {operation} {path}");
        };
        check("Read(./secrets/**)", "find_files", "/ws/secrets/a/b", true);
        check("Read(./secrets/**)", "find_files", "/ws/secrets", false);
        check("Read(./secrets)", "find_files", "/ws/secrets", true);
        check("Read(*.pem)", "find_files", "/elsewhere/a.pem", true);
        check("Grep(./x)", "code_search", "/ws/x", true);
        check("Grep(./x)", "find_files", "/ws/x", false);
        check("Read", "find_files", "/ws/x", false);
        check("Edit(./x)", "find_files", "/ws/x", false);
    }

    #[test]
    fn scopes_of_patterns() {
        for (rule, expected) in [
            ("Read(./secrets/**)", "/ws/secrets"),
            ("Read(*.pem)", "/"),
            ("Edit(./a/b*/c)", "/ws/a"),
            ("Read(//etc/x)", "/etc/x"),
        ] {
            let denied = denied(&[rule], "code_search");
            let scopes = denied.scopes();
            assert!(scopes.iter().any(|(_, scope)| scope == Path::new(expected)), "{rule}");
        }
        assert!(denied(&["Read"], "code_search").is_empty());
    }
}
