//! The module tree of a crate with what each module declares, imports and uses, outside of tests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, UseTree, Visibility};

use crate::tree::File;

/// The path of a module below its crate; the root is empty.
pub(super) type ModulePath = Vec<String>;

/// One module. An inline one has the file of the module around it.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The path of its file in the tree.
    pub(super) file: String,
    /// The modules that it declares.
    pub(super) children: BTreeSet<String>,
    /// Everything else that it declares by name.
    pub(super) items: BTreeSet<String>,
    /// Names that a `use` binds, each with its whole path.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// Paths whose content a `use` brings in as a whole, without the `*`.
    pub(super) globs: Vec<Vec<String>>,
    /// The names that a `pub use` passes on.
    pub(super) passed_on: BTreeSet<String>,
    /// Every path of its code that has more than one segment, and every single name.
    pub(super) uses: BTreeSet<Vec<String>>,
}

/// All modules of the crate with this root file, by path.
pub(super) fn of_crate(
    root: &str,
    files: &BTreeMap<&str, &File>,
) -> Result<BTreeMap<ModulePath, Module>> {
    let mut modules = BTreeMap::new();
    // Files still to be read: the module, its file, and the folder of its children.
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut rest = vec![(ModulePath::new(), root.to_owned(), folder.to_owned())];
    while let Some((path, file, folder)) = rest.pop() {
        let text = files.get(file.as_str()).with_context(|| format!("{file}: no such file"))?;
        let parsed = syn::parse_file(&text.text).with_context(|| format!("parsing {file}"))?;
        let mut reader = Reader { file: &file, files, modules: &mut modules, rest: &mut rest };
        reader.module(path, &folder, &parsed.items);
    }
    Ok(modules)
}

struct Reader<'a> {
    file: &'a str,
    files: &'a BTreeMap<&'a str, &'a File>,
    modules: &'a mut BTreeMap<ModulePath, Module>,
    rest: &'a mut Vec<(ModulePath, String, String)>,
}

impl Reader<'_> {
    fn module(&mut self, path: ModulePath, folder: &str, items: &[Item]) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let below = format!("{folder}/{name}");
                    let child = [path.clone(), vec![name.clone()]].concat();
                    if let Some((_, items)) = &inner.content {
                        self.module(child, &below, items);
                        module.children.insert(name);
                    } else if let Some(file) = self.file_of(&below) {
                        self.rest.push((child, file, below));
                        module.children.insert(name);
                    }
                }
                Item::Use(import) => {
                    let public = !matches!(import.vis, Visibility::Inherited);
                    module.import(&import.tree, &mut Vec::new(), public);
                }
                other => {
                    module.items.extend(declared(other));
                    module.code(other.to_token_stream());
                }
            }
        }
        self.modules.insert(path, module);
    }

    fn file_of(&self, below: &str) -> Option<String> {
        let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
        candidates.into_iter().find(|file| self.files.contains_key(file.as_str()))
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, before: &mut Vec<String>, public: bool) {
        let mut bind = |name: String, path: Vec<String>| {
            if public {
                self.passed_on.insert(name.clone());
            }
            self.imports.insert(name, path);
        };
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before, public);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                bind(before.last().cloned().unwrap_or_default(), before.clone());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                bind(name.clone(), [before.clone(), vec![name]].concat());
            }
            UseTree::Rename(rename) => {
                let path = [before.clone(), vec![rename.ident.to_string()]].concat();
                bind(rename.rename.to_string(), path);
            }
            UseTree::Glob(_) => self.globs.push(before.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, public);
                }
            }
        }
    }

    /// Collects the paths of code by its tokens, so that the arguments of macros count too.
    fn code(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.code(group.stream()),
                TokenTree::Ident(first) if first == "use" && self.local_use(&tokens, &mut at) => {}
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next), ..] =
                        tokens.get(at + 1..).unwrap_or_default()
                        && (a.as_char(), b.as_char()) == (':', ':')
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    self.uses.insert(path);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Takes a `use` inside a function, and moves to its semicolon.
    fn local_use(&mut self, tokens: &[TokenTree], at: &mut usize) -> bool {
        let ends = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
        let rest = tokens.get(*at..).unwrap_or_default();
        let Some(length) = rest.iter().position(ends) else { return false };
        let statement = rest.iter().take(length + 1).cloned().collect();
        let Ok(import) = syn::parse2::<syn::ItemUse>(statement) else { return false };
        self.import(&import.tree, &mut Vec::new(), false);
        *at += length;
        true
    }
}

fn declared(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(x) => &x.ident,
        Item::Enum(x) => &x.ident,
        Item::Fn(x) => &x.sig.ident,
        Item::Macro(x) => x.ident.as_ref()?,
        Item::Static(x) => &x.ident,
        Item::Struct(x) => &x.ident,
        Item::Trait(x) => &x.ident,
        Item::Type(x) => &x.ident,
        Item::Union(x) => &x.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Whether an item exists in tests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string().replace(' ', "");
        text == "cfg(test)" || text.starts_with("cfg(all(test,")
    })
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(x) => &x.attrs,
        Item::Enum(x) => &x.attrs,
        Item::ExternCrate(x) => &x.attrs,
        Item::Fn(x) => &x.attrs,
        Item::ForeignMod(x) => &x.attrs,
        Item::Impl(x) => &x.attrs,
        Item::Macro(x) => &x.attrs,
        Item::Mod(x) => &x.attrs,
        Item::Static(x) => &x.attrs,
        Item::Struct(x) => &x.attrs,
        Item::Trait(x) => &x.attrs,
        Item::TraitAlias(x) => &x.attrs,
        Item::Type(x) => &x.attrs,
        Item::Union(x) => &x.attrs,
        Item::Use(x) => &x.attrs,
        _ => &[],
    }
}

/// The root files of the crates in a folder of the workspace: the library and the program.
pub(super) fn roots<'a>(files: &BTreeMap<&'a str, &'a File>) -> Vec<(&'a str, &'a str)> {
    let in_crate = |path: &'a str| {
        let (name, rest) =
            path.strip_prefix("crates/").or(path.strip_prefix("tools/"))?.split_once('/')?;
        ["src/lib.rs", "src/main.rs"].contains(&rest).then_some((name, path))
    };
    files.keys().filter_map(|path| in_crate(path)).collect()
}
