//! Types of the sources, as far as a page needs them: names, members, words. It reads the form that rustfmt writes, and nothing else.

/// A type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) about: String,
    /// The member that tells variants apart; `None` = the variant's name is the value, or the only member.
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

/// What was read in front of the next thing.
#[derive(Default)]
struct Before {
    about: String,
    attributes: String,
}

impl Before {
    fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Whether an attribute goes on in the next line.
    fn is_open(&self) -> bool {
        !self.attributes.is_empty() && !self.attributes.ends_with(']')
    }

    /// The value of `key = "value"` in an attribute of serde.
    fn value(&self, key: &str) -> Option<String> {
        let (_, rest) = self.attributes.split_once(&format!("{key} = \""))?;
        rest.split('"').next().map(str::to_owned)
    }
}

/// Every type of a source that is public and serialised.
pub(super) fn types(source: &str) -> Vec<Type> {
    let mut found: Vec<Type> = Vec::new();
    let mut before = Before::default();
    let mut rename = None;
    // Whether the lines belong to a type, and to a variant of it.
    let (mut inside, mut deeper) = (false, false);
    for line in source.lines() {
        let (indent, text) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(words) = text.strip_prefix("///") {
            before.about.push_str(words);
        } else if text.starts_with("#[") || before.is_open() {
            before.attributes.push_str(text);
        } else if !inside && indent == 0 {
            let own = before.take();
            if let Some(one) = header(text, &own).filter(|_| own.attributes.contains("Serialize")) {
                rename = own.value("rename_all");
                inside = text.ends_with('{');
                found.push(one);
            }
        } else if inside && text == "}" && indent == 0 {
            inside = false;
        } else if inside && indent == 4 && deeper {
            deeper = false;
        } else if inside && let Some(one) = found.last_mut() {
            deeper = add(one, text, indent, &before.take(), rename.as_deref()) || deeper;
        }
    }
    found
}

fn header(text: &str, before: &Before) -> Option<Type> {
    let rest = text.strip_prefix("pub ")?;
    let (body, rest) = if let Some(rest) = rest.strip_prefix("enum ") {
        (Body::Enum(Vec::new()), rest)
    } else {
        (Body::Struct(Vec::new()), rest.strip_prefix("struct ")?)
    };
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
    Some(Type {
        name,
        about: plain(&before.about),
        tag: before.value("tag"),
        transparent: before.attributes.contains("transparent"),
        body,
    })
}

/// Adds a member or a variant; `true` = the lines that follow are members of this variant.
fn add(one: &mut Type, text: &str, indent: usize, before: &Before, rename: Option<&str>) -> bool {
    match &mut one.body {
        Body::Struct(members) => {
            members.extend(text.strip_prefix("pub ").and_then(|text| member(text, before)));
            false
        }
        Body::Enum(variants) if indent == 8 => {
            if let Some(variant) = variants.last_mut() {
                variant.members.extend(member(text, before));
            }
            false
        }
        Body::Enum(variants) => {
            let name: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
            let inner = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix("),"));
            variants.push(Variant {
                name: on_the_wire(&name, rename),
                about: plain(&before.about),
                members: Vec::new(),
                inner: inner.map(str::to_owned),
            });
            text.ends_with('{')
        }
    }
}

fn member(text: &str, before: &Before) -> Option<Member> {
    if before.attributes.contains("serde(skip)") {
        return None;
    }
    let (name, of) = text.strip_suffix(',')?.split_once(": ")?;
    Some(Member {
        name: name.to_owned(),
        about: plain(&before.about),
        of: of.to_owned(),
        flat: before.attributes.contains("flatten"),
        optional: before.attributes.contains("skip_serializing_if"),
    })
}

/// Words of a doc comment for people who do not read Rust.
fn plain(words: &str) -> String {
    let mut text = words.trim().replace("[`", "`").replace("`]", "`").replace("`None`", "null");
    // Where a rule comes from is for whoever changes it.
    for source in [" (SPEC ", " (DESIGN ", " (seed "] {
        while let Some((before, (_, behind))) =
            text.split_once(source).and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            text = format!("{before}{behind}");
        }
    }
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

/// Plain (SPEC 1.2, seed 003).
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
        let types = types(SOURCE);
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
