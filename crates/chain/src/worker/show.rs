//! Values as `repr` shows them, the beginning kept and the rest counted.

use monty_types::MontyObject;

use crate::protocol::{Shown, VALUE_BYTES, head};

/// A value; `None` for `None`.
pub(super) fn shown(value: &MontyObject) -> Option<Shown> {
    if matches!(value, MontyObject::None) {
        return None;
    }
    let mut text = Text::default();
    text.value(value);
    Some(Shown { text: text.kept, bytes: text.bytes, kind: value.type_name().to_owned() })
}

#[derive(Default)]
struct Text {
    kept: String,
    /// Of all.
    bytes: u64,
}

impl Text {
    fn add(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.kept.push_str(head(text, VALUE_BYTES.saturating_sub(self.kept.len())));
    }

    /// The interpreter's own words for a value; those for collections are here, because its tuples of one lack their comma.
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
