//! Types of the sources, as far as a page needs them: names on the wire, members, doc comments.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quote::ToTokens as _;
use syn::{Attribute, Expr, ExprLit, Fields, Ident, Item, Lit, Meta, Visibility};

/// A type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) about: String,
    /// The member that tells variants apart; `None` = the variant's name is the value, or the only
    /// member.
    pub(super) tag: Option<String>,
    /// The value itself is on the wire, not an object.
    pub(super) transparent: bool,
    pub(super) body: Body,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Struct(Vec<Member>),
    Enum(Vec<Variant>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// Its name on the wire.
    pub(super) name: String,
    pub(super) about: String,
    pub(super) members: Vec<Member>,
    /// The type of its only value, where it has one without a name.
    pub(super) inner: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) about: String,
    /// Its Rust type.
    pub(super) of: String,
    /// Its own members stand beside the others.
    pub(super) flat: bool,
    /// It is left out when there is nothing to say.
    pub(super) optional: bool,
}

/// The attributes of serde on one thing, by key; a flag has no value.
struct Serde(BTreeMap<String, String>);

impl Serde {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut found = BTreeMap::new();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                let key = meta.path.to_token_stream().to_string();
                let value = match meta.value() {
                    Ok(value) => value.parse::<syn::LitStr>()?.value(),
                    Err(_) => String::new(),
                };
                found.insert(key, value);
                Ok(())
            })?;
        }
        Ok(Self(found))
    }

    fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Every type of a source that is public and serialised.
pub(super) fn types(source: &str) -> Result<Vec<Type>> {
    let mut found = Vec::new();
    for item in syn::parse_file(source).context("parsing a source of events")?.items {
        match item {
            Item::Struct(of) if is_serialized(&of.vis, &of.attrs) => {
                let body = Body::Struct(members(&of.fields, true)?);
                found.push(one(&of.ident, &of.attrs, body)?);
            }
            Item::Enum(of) if is_serialized(&of.vis, &of.attrs) => {
                let serde = Serde::read(&of.attrs)?;
                let rename = serde.value("rename_all");
                let variants = of.variants.iter().map(|variant| self::variant(variant, rename));
                found.push(one(
                    &of.ident,
                    &of.attrs,
                    Body::Enum(variants.collect::<Result<_>>()?),
                )?);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn is_serialized(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let derives = |attribute: &Attribute| {
        attribute.path().is_ident("derive")
            && attribute.meta.to_token_stream().to_string().contains("Serialize")
    };
    matches!(visibility, Visibility::Public(_)) && attributes.iter().any(derives)
}

fn one(name: &Ident, attributes: &[Attribute], body: Body) -> Result<Type> {
    let serde = Serde::read(attributes)?;
    Ok(Type {
        name: name.to_string(),
        about: about(attributes),
        tag: serde.value("tag").map(str::to_owned),
        transparent: serde.has("transparent"),
        body,
    })
}

fn variant(variant: &syn::Variant, rename: Option<&str>) -> Result<Variant> {
    let inner = match &variant.fields {
        Fields::Unnamed(fields) => fields.unnamed.first().map(|field| type_name(&field.ty)),
        _ => None,
    };
    Ok(Variant {
        name: on_the_wire(&variant.ident.to_string(), rename),
        about: about(&variant.attrs),
        members: members(&variant.fields, false)?,
        inner,
    })
}

/// Members with a name; of a struct the public ones.
fn members(fields: &Fields, of_struct: bool) -> Result<Vec<Member>> {
    let mut found = Vec::new();
    for field in fields {
        let Some(name) = &field.ident else { continue };
        let serde = Serde::read(&field.attrs)?;
        let hidden = of_struct && !matches!(field.vis, Visibility::Public(_));
        if hidden || serde.has("skip") {
            continue;
        }
        found.push(Member {
            name: serde.value("rename").map_or_else(|| name.to_string(), str::to_owned),
            about: about(&field.attrs),
            of: type_name(&field.ty),
            flat: serde.has("flatten"),
            optional: serde.has("skip_serializing_if"),
        });
    }
    Ok(found)
}

/// A type as rustfmt writes it.
fn type_name(of: &syn::Type) -> String {
    let text = of.to_token_stream().to_string().replace(' ', "");
    text.replace("&'staticstr", "&'static str").replace(',', ", ")
}

/// The words of a doc comment.
fn about(attributes: &[Attribute]) -> String {
    let mut words = String::new();
    for attribute in attributes {
        if let Meta::NameValue(doc) = &attribute.meta
            && doc.path.is_ident("doc")
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value
        {
            words.push_str(&text.value());
        }
    }
    plain(&words)
}

/// Words of a doc comment for people who do not read Rust.
fn plain(words: &str) -> String {
    let mut text = words.trim().replace("[`", "`").replace("`]", "`").replace("`None`", "null");
    while let Some((before, rest)) = text.split_once("`Event::") {
        let (name, behind) = rest.split_once('`').unwrap_or((rest, ""));
        text = format!("{before}`{}`{behind}", on_the_wire(name, Some("kebab-case")));
    }
    text
}

/// `TimedOut` as serde writes it.
fn on_the_wire(name: &str, rename: Option<&str>) -> String {
    let between = match rename {
        Some("kebab-case") => "-",
        Some("snake_case") => "_",
        _ => return name.to_owned(),
    };
    let mut wire = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !wire.is_empty() {
            wire.push_str(between);
        }
        wire.extend(letter.to_lowercase());
    }
    wire
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
/// Not on the wire.
pub struct Other {
    /// X.
    pub x: u8,
}

/// One
/// thing.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Thing {
    /// Before [`Event::RunEnd`]; `None` = never.
    TimedOut,
    /// Some.
    Some {
        /// Its n.
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        /// More.
        #[serde(flatten)]
        more: Plain,
    },
    /// In it.
    Wrapped(Plain),
}

/// Plain.
#[derive(
    Debug, Serialize,
)]
pub struct Plain {
    /// A.
    pub a: String,
    /// Only here.
    #[serde(skip)]
    pub b: u8,
}
"#;

    #[test]
    fn types_are_read_with_their_names_on_the_wire() {
        let types = types(SOURCE).unwrap();
        let names: Vec<&str> = types.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["Thing", "Plain"]);
        assert_eq!(
            (types[0].about.as_str(), types[0].tag.as_deref()),
            ("One thing.", Some("type"))
        );
        let Body::Enum(variants) = &types[0].body else { panic!() };
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["timed-out", "some", "wrapped"]);
        assert_eq!(variants[0].about, "Before `run-end`; null = never.");
        let members = &variants[1].members;
        assert_eq!((members[0].name.as_str(), members[0].optional), ("n", true));
        assert!(members[1].flat && members[1].of == "Plain" && members.len() == 2);
        assert_eq!(variants[2].inner.as_deref(), Some("Plain"));
        let Body::Struct(members) = &types[1].body else { panic!() };
        assert_eq!((members[0].name.as_str(), members[0].of.as_str()), ("a", "String"));
        assert_eq!((members.len(), types[1].about.as_str()), (1, "Plain."));
    }
}
