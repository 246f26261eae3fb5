//! Circles of files: files of one crate each of which needs all others, so that none can be read,
//! tested or moved alone.
//!
//! A file needs another where its code, outside of tests, names something that the other declares.
//! A re-export is no need: a name that `mod.rs` passes on leads to the file that declares it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::found::Found;
use super::modules::{self, Module, ModulePath};
use crate::tree::File;

/// Files of a circle that may stay: a file and its parts name each other.
const MOST: usize = 5;

/// Names every circle of more than [`MOST`] files.
pub(super) fn check(files: &[File]) -> Result<Found> {
    let files: BTreeMap<&str, &File> = files.iter().map(|f| (f.path.as_str(), f)).collect();
    let mut failures = Vec::new();
    for (_, root) in modules::roots(&files) {
        let modules = modules::of_crate(root, &files)?;
        let circles = of_graph(&needs(&modules));
        failures.extend(circles.iter().filter(|circle| circle.len() > MOST).map(|circle| {
            let names: Vec<&str> = circle.iter().map(String::as_str).collect();
            format!("a circle of {} files: {}", circle.len(), names.join(" "))
        }));
    }
    Ok(Found::failures(failures))
}

/// The files that each file needs.
fn needs(modules: &BTreeMap<ModulePath, Module>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, module) in modules {
        let edges = graph.entry(&module.file).or_default();
        let names: BTreeSet<&String> = module.uses.iter().flatten().collect();
        // A name that is only passed on is no need of this file.
        let own = module
            .imports
            .iter()
            .filter(|(name, _)| !module.passed_on.contains(*name) || names.contains(name));
        let globs = module.globs.iter().filter(|_| !module.uses.is_empty());
        for used in own.map(|(_, used)| used).chain(globs).chain(&module.uses) {
            if let Some(Target::Item(file)) = resolve(modules, path, used, 0) {
                edges.insert(file);
            }
        }
        edges.remove(module.file.as_str());
    }
    graph
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Target<'m> {
    /// A module.
    Module(ModulePath),
    /// Something that this file declares.
    Item(&'m str),
}

/// `use` statements that lead to each other; more than any real chain of re-exports.
const MOST_STEPS: usize = 12;

/// Follows a path from a module; `None` leads out of the crate.
fn resolve<'m>(
    modules: &'m BTreeMap<ModulePath, Module>,
    from: &ModulePath,
    path: &[String],
    steps: usize,
) -> Option<Target<'m>> {
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => ModulePath::new(),
        "self" => from.clone(),
        "super" => from.get(..from.len().checked_sub(1)?)?.to_vec(),
        name => match lookup(modules, from, name, !rest.is_empty(), steps)? {
            Target::Module(at) => at,
            item @ Target::Item(_) => return Some(item),
        },
    };
    for (position, name) in rest.iter().enumerate() {
        if name == "super" {
            at.pop()?;
            continue;
        }
        match lookup(modules, &at, name, position + 1 < rest.len(), steps) {
            Some(Target::Module(below)) => at = below,
            Some(item) => return Some(item),
            // What a macro declares is found nowhere; it is in the file of its module.
            None => return Some(Target::Item(&modules.get(&at)?.file)),
        }
    }
    Some(Target::Module(at))
}

/// What a name means inside a module.
fn lookup<'m>(
    modules: &'m BTreeMap<ModulePath, Module>,
    at: &ModulePath,
    name: &str,
    has_more: bool,
    steps: usize,
) -> Option<Target<'m>> {
    let module = modules.get(at)?;
    // A function and a module may share a name; only the module has something below it.
    if module.items.contains(name) && !(has_more && module.children.contains(name)) {
        return Some(Target::Item(&module.file));
    }
    if module.children.contains(name) {
        return Some(Target::Module([at.clone(), vec![name.to_owned()]].concat()));
    }
    if steps >= MOST_STEPS {
        return None;
    }
    if let Some(path) = module.imports.get(name) {
        return resolve(modules, at, path, steps + 1);
    }
    module.globs.iter().find_map(|glob| match resolve(modules, at, glob, steps + 1)? {
        Target::Module(inner) => lookup(modules, &inner, name, has_more, steps + 1),
        Target::Item(_) => None,
    })
}

/// The circles of a graph: its strongly connected components of more than one node (Tarjan 1972).
fn of_graph(graph: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<BTreeSet<String>> {
    let mut search =
        Search { graph, order: BTreeMap::new(), stack: Vec::new(), circles: Vec::new() };
    for node in graph.keys() {
        if !search.order.contains_key(node) {
            search.visit(node);
        }
    }
    search.circles
}

struct Search<'g> {
    graph: &'g BTreeMap<&'g str, BTreeSet<&'g str>>,
    order: BTreeMap<&'g str, usize>,
    stack: Vec<&'g str>,
    circles: Vec<BTreeSet<String>>,
}

impl<'g> Search<'g> {
    /// Visits what a node needs; the lowest place on the stack that it leads back to.
    fn visit(&mut self, node: &'g str) -> usize {
        let own = self.order.len();
        self.order.insert(node, own);
        let depth = self.stack.len();
        self.stack.push(node);
        let mut lowest = own;
        for next in self.graph.get(node).into_iter().flatten() {
            match self.order.get(next) {
                None => lowest = lowest.min(self.visit(next)),
                Some(order) if self.stack.contains(next) => lowest = lowest.min(*order),
                Some(_) => {}
            }
        }
        if lowest == own {
            let circle = self.stack.split_off(depth);
            if circle.len() > 1 {
                self.circles.push(circle.into_iter().map(str::to_owned).collect());
            }
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate made of these files.
    fn circles(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<File> = sources
            .iter()
            .map(|(path, text)| File {
                path: format!("crates/x/src/{path}"),
                text: (*text).to_owned(),
            })
            .collect();
        let files = files.iter().map(|f| (f.path.as_str(), f)).collect();
        let modules = modules::of_crate("crates/x/src/lib.rs", &files).unwrap();
        let short = |path: String| path.replace("crates/x/src/", "");
        of_graph(&needs(&modules)).into_iter().map(|c| c.into_iter().map(short).collect()).collect()
    }

    #[test]
    fn files_that_need_each_other_are_a_circle() {
        for (a, b, expected) in [
            ("use crate::b::f; pub fn g() { f() }", "pub fn f() { super::a::g() }", true),
            ("use crate::b; pub fn g() { b::f() }", "pub fn f() { crate::a::g() }", true),
            ("pub fn g() { crate::b::f() }", "use super::*; pub fn f() { a::g() }", true),
            ("pub fn g() { use crate::b::{self, f}; f() }", "pub fn f() { crate::a::g() }", true),
            ("pub fn g() { crate::b::f() }", "pub fn f() { format!(\"{}\", crate::a::g()) }", true),
            (
                "pub fn g() { crate::b::f() }",
                "#[cfg(test)] mod tests { fn t() { crate::a::g() } }",
                false,
            ),
            ("pub fn g() { crate::b::f() }", "pub fn f() {} // crate::a::g()", false),
            ("pub fn g() { crate::b::f() }", "use other::a::g; pub fn f() { g() }", false),
        ] {
            let found = circles(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]);
            let wanted = if expected { vec![vec!["a.rs", "b.rs"]] } else { vec![] };
            assert_eq!(found, wanted, "{a} | {b}");
        }
    }

    #[test]
    fn a_re_export_is_no_need() {
        let inner = ("m/inner.rs", "use super::other::B; pub struct A(B);");
        let other = ("m/other.rs", "pub struct B;");
        let passes = ("m/mod.rs", "mod inner; mod other; pub use inner::A; pub use other::*;");
        let uses = ("a.rs", "use crate::m::{A, B}; pub fn f(_: A, _: B) {}");
        let root = ("lib.rs", "mod a; mod m; pub use m::A;");
        assert_eq!(circles(&[root, passes, inner, other, uses]), Vec::<Vec<String>>::new());
        let works = ("m/mod.rs", "mod inner; pub use inner::A; pub struct B; fn f(_: A) {}");
        let inner = ("m/inner.rs", "use super::B; pub struct A(B);");
        assert_eq!(circles(&[("lib.rs", "mod m;"), works, inner]), [["m/inner.rs", "m/mod.rs"]]);
    }

    #[test]
    fn circles_of_more_than_five_files_are_named() {
        let ring = |size: usize| -> Vec<File> {
            let names: String = (0..size).map(|n| format!("mod m{n};")).collect();
            let part = |n: usize| format!("pub fn f() {{ crate::m{}::f() }}", (n + 1) % size);
            let parts = (0..size).map(|n| (format!("m{n}.rs"), part(n)));
            let all = [("lib.rs".to_owned(), names)].into_iter().chain(parts);
            all.map(|(name, text)| File { path: format!("crates/x/src/{name}"), text }).collect()
        };
        assert!(check(&ring(MOST)).unwrap().failures.is_empty());
        let failures = check(&ring(MOST + 1)).unwrap().failures;
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].starts_with("a circle of 6 files: crates/x/src/m0.rs"), "{failures:?}");
    }
}
