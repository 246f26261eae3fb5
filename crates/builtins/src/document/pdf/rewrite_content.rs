//! Rewrites the content streams of a page to the subset that the PDF library handles: text
//! operators with valid operands, fonts that exist, form XObjects that are forms.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// Ancestors in the page tree that are searched for inherited resources.
const MAX_DEPTH: usize = 64;
/// Form XObjects that are rewritten per page.
const MAX_FORMS: usize = 10_000;

/// Rewrites a page and the form XObjects that it uses; the result says whether it shows images.
/// `None` if it cannot be read.
pub(super) fn rewrite_page(
    document: &mut Document,
    page: ObjectId,
    rewritten: &mut HashSet<ObjectId>,
) -> Option<bool> {
    let resources = inherited(document, page).unwrap_or_default();
    let content = document.get_page_content(page).ok()?;
    let shown = rewrite(document, &resources, &content)?;
    let mut images = shown.images;
    let content = document.add_object(Stream::new(Dictionary::new(), shown.content));
    let dictionary = document.get_object_mut(page).ok()?.as_dict_mut().ok()?;
    dictionary.set("Contents", content);
    dictionary.set("Resources", resources.clone());
    // The crop of a page does not matter for its text, so a fixed MediaBox replaces the declared
    // one.
    let letter = [0, 0, 612, 792].map(Object::Integer).to_vec();
    dictionary.set("MediaBox", letter);
    dictionary.remove(b"ArtBox");
    let mut forms: Vec<(ObjectId, Dictionary)> =
        shown.forms.into_iter().map(|form| (form, resources.clone())).collect();
    let mut count = 0;
    while let Some((id, outer)) = forms.pop() {
        count += 1;
        if count > MAX_FORMS || !rewritten.insert(id) {
            continue;
        }
        let Some((inner, shown)) = form(document, id, &outer) else { continue };
        images |= shown.images;
        forms.extend(shown.forms.into_iter().filter(|f| *f != id).map(|f| (f, inner.clone())));
        if let Ok(stream) = document.get_object_mut(id).and_then(Object::as_stream_mut) {
            stream.set_plain_content(shown.content);
        }
    }
    Some(images)
}

/// Rewrites the content of a form; also returns the resources that it uses.
fn form(
    document: &Document,
    id: ObjectId,
    outer: &Dictionary,
) -> Option<(Dictionary, RewrittenContent)> {
    let stream = document.get_object(id).ok()?.as_stream().ok()?;
    let own = stream.dict.get_deref(b"Resources", document).and_then(Object::as_dict);
    let resources = own.cloned().unwrap_or_else(|_| outer.clone());
    let content = stream.get_plain_content().ok()?;
    let shown = rewrite(document, &resources, &content).unwrap_or_default();
    Some((resources, shown))
}

/// Returns the resources of a page, which it may inherit from an ancestor in the page tree.
fn inherited(document: &Document, page: ObjectId) -> Option<Dictionary> {
    let mut dictionary = document.get_dictionary(page).ok()?;
    for _ in 0..MAX_DEPTH {
        if let Ok(resources) = dictionary.get_deref(b"Resources", document) {
            return resources.as_dict().ok().cloned();
        }
        dictionary = dictionary.get_deref(b"Parent", document).ok()?.as_dict().ok()?;
    }
    None
}

/// A rewritten content stream, and the objects that it uses.
#[derive(Default)]
struct RewrittenContent {
    content: Vec<u8>,
    forms: Vec<ObjectId>,
    images: bool,
}

fn rewrite(
    document: &Document,
    resources: &Dictionary,
    content: &[u8],
) -> Option<RewrittenContent> {
    let mut page = ContentRewriter {
        document,
        resources,
        shown: RewrittenContent::default(),
        has_font: false,
    };
    let operations = Content::decode(content).ok()?.operations;
    let operations: Vec<Operation> =
        operations.into_iter().flat_map(|operation| page.keep(operation)).collect();
    let mut shown = page.shown;
    shown.content = Content { operations }.encode().ok()?;
    Some(shown)
}

struct ContentRewriter<'a> {
    document: &'a Document,
    resources: &'a Dictionary,
    shown: RewrittenContent,
    /// Whether a font is set. Without one, text operators are dropped.
    has_font: bool,
}

impl ContentRewriter<'_> {
    /// Returns the replacements of an operation; none if it is dropped.
    fn keep(&mut self, operation: Operation) -> Vec<Operation> {
        let Operation { operator, operands } = &operation;
        let kept = match (operator.as_str(), operands.as_slice()) {
            ("BT" | "ET" | "q" | "Q" | "T*", []) => true,
            ("cm" | "Tm", numbers) => numbers.len() == 6 && are_numbers(numbers),
            ("Td" | "TD", numbers) => numbers.len() == 2 && are_numbers(numbers),
            ("Tc" | "Tw" | "Tz" | "TL" | "Ts", numbers) => {
                numbers.len() == 1 && are_numbers(numbers)
            }
            ("Tf", [Object::Name(name), size]) => {
                let known = is_number(size) && self.is_font(name);
                self.has_font |= known;
                known
            }
            ("Tj", [Object::String(..)]) | ("TJ", [Object::Array(_)]) => self.has_font,
            // The library does not support `'` and `"`: both become a new line and its text.
            ("'", [text @ Object::String(..)]) => return self.next_line(Vec::new(), text),
            ("\"", [word, letter, text @ Object::String(..)])
                if is_number(word) && is_number(letter) =>
            {
                let spacing = vec![
                    Operation::new("Tw", vec![word.clone()]),
                    Operation::new("Tc", vec![letter.clone()]),
                ];
                return self.next_line(spacing, text);
            }
            ("Do", [Object::Name(name)]) => self.is_form(name),
            ("BI" | "ID" | "EI", _) => {
                self.shown.images = true;
                false
            }
            _ => false,
        };
        if kept { vec![operation] } else { Vec::new() }
    }

    fn next_line(&self, mut before: Vec<Operation>, text: &Object) -> Vec<Operation> {
        before.push(Operation::new("T*", Vec::new()));
        if self.has_font {
            before.push(Operation::new("Tj", vec![text.clone()]));
        }
        before
    }

    fn resource(&self, kind: &[u8], name: &[u8]) -> Option<&Object> {
        let kind = self.resources.get_deref(kind, self.document).ok()?.as_dict().ok()?;
        kind.get(name).ok()
    }

    fn is_font(&self, name: &[u8]) -> bool {
        let font = self.resource(b"Font", name);
        let font = font.and_then(|font| self.document.dereference(font).ok());
        let subtype = font.and_then(|(_, font)| font.as_dict().ok()?.get(b"Subtype").ok());
        subtype.is_some_and(|subtype| subtype.as_name().is_ok())
    }

    /// Returns whether the name is a form, which is kept. An image is only noted.
    fn is_form(&mut self, name: &[u8]) -> bool {
        let Some(id) =
            self.resource(b"XObject", name).and_then(|object| object.as_reference().ok())
        else {
            return false;
        };
        let stream = self.document.get_object(id).and_then(Object::as_stream);
        let subtype = stream.and_then(|stream| stream.dict.get(b"Subtype")?.as_name());
        match subtype {
            Ok(b"Form") => {
                self.shown.forms.push(id);
                true
            }
            Ok(b"Image") => {
                self.shown.images = true;
                false
            }
            _ => false,
        }
    }
}

fn are_numbers(objects: &[Object]) -> bool {
    objects.iter().all(is_number)
}

fn is_number(object: &Object) -> bool {
    matches!(object, Object::Integer(_) | Object::Real(_))
}
