//! What a page shows, rewritten to what the library needs for its text and cannot stumble over: text operators whose operands are
//! right, fonts that exist, forms that are forms.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// Folders of the page tree that are climbed for what a page inherits.
const MAX_DEPTH: usize = 64;
/// Forms that are rewritten for one page.
const MAX_FORMS: usize = 10_000;

/// Rewrites a page and the forms it shows; the result says whether it shows images. `None` = it cannot be read.
pub(super) fn prepare(
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
    // Where the page is cut does not matter for its text.
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

/// What a form shows, and the resources that this is written with.
fn form(document: &Document, id: ObjectId, outer: &Dictionary) -> Option<(Dictionary, Shown)> {
    let stream = document.get_object(id).ok()?.as_stream().ok()?;
    let own = stream.dict.get_deref(b"Resources", document).and_then(Object::as_dict);
    let resources = own.cloned().unwrap_or_else(|_| outer.clone());
    let content = stream.get_plain_content().ok()?;
    let shown = rewrite(document, &resources, &content).unwrap_or_default();
    Some((resources, shown))
}

/// The resources of a page, which may stand above it in the tree.
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

/// What a stream shows.
#[derive(Default)]
struct Shown {
    content: Vec<u8>,
    forms: Vec<ObjectId>,
    images: bool,
}

fn rewrite(document: &Document, resources: &Dictionary, content: &[u8]) -> Option<Shown> {
    let mut page = Rewriting { document, resources, shown: Shown::default(), has_font: false };
    let operations = Content::decode(content).ok()?.operations;
    let operations: Vec<Operation> =
        operations.into_iter().flat_map(|operation| page.keep(operation)).collect();
    let mut shown = page.shown;
    shown.content = Content { operations }.encode().ok()?;
    Some(shown)
}

struct Rewriting<'a> {
    document: &'a Document,
    resources: &'a Dictionary,
    shown: Shown,
    /// Text is shown in a font, or not at all.
    has_font: bool,
}

impl Rewriting<'_> {
    /// What is kept of an operation.
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
            // The library does not know these two: a new line, then its text.
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

    /// Whether that is a form, which is kept; an image is only noted.
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
