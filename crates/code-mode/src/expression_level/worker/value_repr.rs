//! `repr` of a value, truncated, with the length of the whole.

use monty_types::MontyObject;

use crate::worker_protocol::{VALUE_BYTES, ValueRepr, head};

/// Returns the `repr` of a value; `None` for `None`.
pub(super) fn repr(value: &MontyObject) -> Option<ValueRepr> {
    if matches!(value, MontyObject::None) {
        return None;
    }
    let mut text = ReprBuilder::default();
    text.value(value);
    Some(ValueRepr { text: text.kept, bytes: text.bytes, kind: value.type_name().to_owned() })
}

#[derive(Default)]
struct ReprBuilder {
    kept: String,
    /// Length of the whole text.
    bytes: u64,
}

impl ReprBuilder {
    fn add(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.kept.push_str(head(text, VALUE_BYTES.saturating_sub(self.kept.len())));
    }

    /// Writes the interpreter's own `repr` of a value. Collections are written here, because its
    /// one-element tuples lack their comma.
    fn value(&mut self, value: &MontyObject) {
        match value {
            MontyObject::List(items) => self.items("[", items, "]"),
            MontyObject::Tuple(items) if items.len() == 1 => self.items("(", items, ",)"),
            MontyObject::Tuple(items) => self.items("(", items, ")"),
            MontyObject::Set(items) if !items.is_empty() => self.items("{", items, "}"),
            MontyObject::FrozenSet(items) if !items.is_empty() => {
                self.items("frozenset({", items, "})");
            }
            MontyObject::Dict(pairs) => {
                self.add("{");
                for (place, (key, value)) in pairs.iter().enumerate() {
                    self.add(if place > 0 { ", " } else { "" });
                    self.value(key);
                    self.add(": ");
                    self.value(value);
                }
                self.add("}");
            }
            other => self.add(&other.py_repr()),
        }
    }

    fn items(&mut self, open: &str, items: &[MontyObject], close: &str) {
        self.add(open);
        for (place, item) in items.iter().enumerate() {
            self.add(if place > 0 { ", " } else { "" });
            self.value(item);
        }
        self.add(close);
    }
}
