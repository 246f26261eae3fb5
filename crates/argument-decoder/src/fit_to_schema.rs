//! Fits a value to its schema: converts without loss where the value does not validate, fills in
//! defaults, and warns about parameters that the schema does not define.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::changes::{ChangeKind, Changes, push_index, push_key};
use super::number;
use super::scalar_conversion::{as_boolean, as_embedded, as_number, enum_case};
use super::schema::Schema;
use super::schema_plan::{AdditionalProperties, Node, NodeId, Plan, ROOT};
use super::suggest::nearest;
use super::type_set::TypeSet;
use super::value_preview::{preview, shorten};
use super::value_size::{depth_of, value_size};

/// Maximum number of warnings about unknown parameters.
const MAX_WARNINGS: usize = 10;
/// Budget for trial conversions and defaults, in values, that does not depend on the size of the
/// arguments.
const BASE_BUDGET: usize = 100_000;

/// The path to a value, on the stack; rendered only for a report.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Self>,
    step: Step<'p>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    const TOP: Path<'static> = Path { parent: None, step: Step::Root, depth: 0 };

    fn then(&'p self, step: Step<'p>) -> Self {
        Self { parent: Some(self), step, depth: self.depth + 1 }
    }

    fn pointer(&self) -> String {
        let mut out = self.parent.map(Path::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => push_key(&mut out, key),
            Step::Index(index) => push_index(&mut out, index),
        }
        out
    }

    /// Returns the exact pointer, for finding the value later.
    fn exact(&self) -> String {
        let mut out = self.parent.map(Path::exact).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => super::schema_references::push_segment(&mut out, key),
            Step::Index(index) => push_index(&mut out, index),
        }
        out
    }
}

/// A default that was filled in: the object's pointer and the name.
pub(super) type AppliedDefault = (String, Box<str>);

/// One pass over one value.
pub(super) struct Coercer<'s> {
    schema: &'s Schema,
    plan: &'s Plan,
    changes: Changes,
    before: (usize, usize),
    warnings: Vec<String>,
    defaults: Vec<AppliedDefault>,
    budget: usize,
    /// Deepest nesting that conversions and defaults may produce.
    deepest: usize,
}

impl<'s> Coercer<'s> {
    /// Creates a coercer. `bytes` is the size of the text; the budget grows with it.
    pub(super) fn new(schema: &'s Schema, bytes: usize, deepest: usize, changes: Changes) -> Self {
        let before = changes.mark();
        let budget = BASE_BUDGET.saturating_add(bytes.saturating_mul(4));
        Self {
            schema,
            plan: schema.plan(),
            changes,
            before,
            warnings: Vec::new(),
            defaults: Vec::new(),
            budget,
            deepest,
        }
    }

    /// Fits the arguments. If `convert` is false, the value is already valid, and only whole floats
    /// become integers.
    pub(super) fn root(&mut self, value: &mut Value, convert: bool) {
        self.value(value, ROOT, convert, &Path::TOP);
    }

    /// Returns whether the value was changed in any way.
    pub(super) fn touched(&self) -> bool {
        !self.defaults.is_empty() || self.changes.mark() != self.before
    }

    pub(super) fn finish(self) -> (Changes, Vec<String>, Vec<AppliedDefault>) {
        (self.changes, self.warnings, self.defaults)
    }

    /// Fits one value to all schemas that apply to it.
    fn value(&mut self, value: &mut Value, id: NodeId, convert: bool, path: &Path<'_>) {
        if let Value::Object(map) = value {
            if convert {
                self.remove_nulls(map, id, path);
            }
            self.warn_unknown(map, id, path);
        }
        self.in_place(value, id, convert, path);
    }

    fn in_place(&mut self, value: &mut Value, id: NodeId, convert: bool, path: &Path<'_>) {
        let plan = self.plan;
        let Some(node) = plan.node(id) else { return };
        self.scalar(value, node, convert, path);
        match value {
            Value::Object(map) => self.object(map, node, convert, path),
            Value::Array(items) => self.array(items, node, convert, path),
            _ => {}
        }
        for &part in &node.all {
            self.in_place(value, part, convert, path);
        }
        for branches in &node.choices {
            self.choose(value, branches, convert, path);
        }
    }

    fn object(
        &mut self,
        map: &mut Map<String, Value>,
        node: &Node,
        convert: bool,
        path: &Path<'_>,
    ) {
        if !node.properties.is_empty() || matches!(node.others, AdditionalProperties::Follow(_)) {
            for (key, item) in map.iter_mut() {
                let other = if let AdditionalProperties::Follow(id) = node.others {
                    Some(id)
                } else {
                    None
                };
                if let Some(child) = node.property(key).or(other) {
                    self.value(item, child, convert, &path.then(Step::Key(key)));
                }
            }
        }
        for (name, default) in &node.defaults {
            if !map.contains_key(name.as_ref())
                && depth_of(default, self.deepest) <= self.deepest.saturating_sub(path.depth + 1)
                && self.afford(default)
            {
                map.insert(name.to_string(), default.clone());
                self.defaults.push((path.exact(), name.clone()));
            }
        }
    }

    fn array(&mut self, items: &mut [Value], node: &Node, convert: bool, path: &Path<'_>) {
        if node.items.is_none() && node.prefix.is_empty() {
            return;
        }
        for (index, item) in items.iter_mut().enumerate() {
            if let Some(child) = node.prefix.get(index).copied().or(node.items) {
                self.value(item, child, convert, &path.then(Step::Index(index)));
            }
        }
    }

    /// Converts one value by the type and the enum of one schema.
    fn scalar(&mut self, value: &mut Value, node: &Node, convert: bool, path: &Path<'_>) {
        if node.types == TypeSet::ANY && node.allowed.is_empty() {
            return;
        }
        if let Value::Number(number) = value
            && node.types.covers(TypeSet::INTEGER)
            && !node.types.covers(TypeSet::FRACTION)
            && let Some(whole) = number::whole(number)
        {
            let converted = Value::Number(whole);
            self.replace(value, converted, ChangeKind::ToNumber, path);
        }
        if !convert {
            return;
        }
        if !node.types.covers(TypeSet::of(value))
            && let Some((kind, converted)) = self.only_conversion(value, node, path)
        {
            self.replace(value, converted, kind, path);
        }
        if let Value::String(text) = value
            && let Some(exact) = enum_case(text, &node.allowed)
        {
            let converted = Value::String(exact.to_owned());
            self.replace(value, converted, ChangeKind::EnumCase, path);
        }
    }

    fn replace(&mut self, value: &mut Value, converted: Value, kind: ChangeKind, path: &Path<'_>) {
        self.changes.add(kind, || {
            let note = format!("{} was read as {}", preview(value, 60), preview(&converted, 60));
            (path.pointer(), note)
        });
        *value = converted;
    }

    /// Returns the only value of the wanted types to which this one converts.
    fn only_conversion(
        &mut self,
        value: &Value,
        node: &Node,
        path: &Path<'_>,
    ) -> Option<(ChangeKind, Value)> {
        let mut found = None;
        let wanted = node.types;
        let text_forms = match value {
            Value::String(text) => [
                as_number(text, wanted),
                as_boolean(text, wanted),
                as_embedded(text, wanted, self.deepest.saturating_sub(path.depth)),
            ],
            Value::Number(number) if !number.is_f64() && wanted.covers(TypeSet::STRING) => {
                [Some((ChangeKind::ToString, Value::String(number.to_string()))), None, None]
            }
            _ => [None, None, None],
        };
        let list = if wanted.covers(TypeSet::ARRAY) { self.as_list(value, node) } else { None };
        for candidate in text_forms.into_iter().chain([list]).flatten() {
            if found.replace(candidate).is_some() {
                return None;
            }
        }
        found
    }

    fn as_list(&mut self, value: &Value, node: &Node) -> Option<(ChangeKind, Value)> {
        let single = match value {
            Value::String(text) => {
                let start = text.trim_start();
                // Text that looks like JSON or a list is not a single element.
                !start.is_empty()
                    && !start.starts_with(['[', '{'])
                    && !text.contains([',', ';', '\n'])
            }
            Value::Number(_) | Value::Bool(_) => true,
            _ => false,
        };
        let accepted = single
            && match node.prefix.first().copied().or(node.items) {
                None => true,
                Some(item) => self.accepts(item, value) == Some(true),
            };
        accepted.then(|| (ChangeKind::ToArray, Value::Array(vec![value.clone()])))
    }

    /// Fits a value to one of several alternatives, if exactly one accepts it.
    fn choose(&mut self, value: &mut Value, branches: &[NodeId], convert: bool, path: &Path<'_>) {
        let Some(accepting) = self.accepting(value, branches, !convert) else { return };
        match *accepting.as_slice() {
            [one] => self.in_place(value, one, false, path),
            [] if convert => self.try_each(value, branches, path),
            _ => {}
        }
    }

    /// Returns the alternatives that accept the value unchanged; none if the budget does not cover
    /// the check. At least one accepts a value that is `valid`, so a single candidate left by type
    /// needs no check.
    fn accepting(
        &mut self,
        value: &Value,
        branches: &[NodeId],
        valid: bool,
    ) -> Option<Vec<NodeId>> {
        let kind = TypeSet::of(value);
        let plan = self.plan;
        let mut possible = branches.to_vec();
        possible.retain(|&id| plan.node(id).is_some_and(|node| node.types.covers(kind)));
        if valid && possible.len() <= 1 {
            return Some(possible);
        }
        let mut accepting = Vec::new();
        for id in possible {
            if self.accepts(id, value)? {
                accepting.push(id);
            }
        }
        Some(accepting)
    }

    /// Converts a copy for each alternative; uses the result if all successful conversions agree on
    /// it.
    fn try_each(&mut self, value: &mut Value, branches: &[NodeId], path: &Path<'_>) {
        let mut found: Option<(Value, Changes, Vec<AppliedDefault>)> = None;
        for &branch in branches {
            if !self.afford(value) {
                return;
            }
            let mut trial = value.clone();
            let changes = std::mem::take(&mut self.changes);
            let defaults = std::mem::take(&mut self.defaults);
            if let Value::Object(map) = &mut trial {
                self.remove_nulls(map, branch, path);
            }
            self.in_place(&mut trial, branch, true, path);
            let changes = std::mem::replace(&mut self.changes, changes);
            let defaults = std::mem::replace(&mut self.defaults, defaults);
            if self.accepts(branch, &trial) != Some(true) {
                continue;
            }
            if found.as_ref().is_some_and(|(other, ..)| *other != trial) {
                return;
            }
            found.get_or_insert((trial, changes, defaults));
        }
        if let Some((converted, changes, defaults)) = found {
            *value = converted;
            self.changes.append(changes);
            self.defaults.extend(defaults);
        }
    }

    /// Returns whether a subschema accepts a value; `None` if the budget does not cover the check.
    fn accepts(&mut self, id: NodeId, value: &Value) -> Option<bool> {
        let node = self.plan.node(id)?;
        if !node.types.covers(TypeSet::of(value)) {
            return Some(false);
        }
        if !self.afford(value) {
            return None;
        }
        Some(self.schema.branch(&node.at)?.is_valid(value))
    }

    /// Deducts another pass over the whole value from the budget.
    fn afford(&mut self, value: &Value) -> bool {
        match value_size(value, self.budget) {
            Some(weight) => {
                self.budget -= weight;
                true
            }
            None => {
                self.budget = 0;
                false
            }
        }
    }

    /// Removes `null` where the parameter is optional and does not accept `null`.
    fn remove_nulls(&mut self, map: &mut Map<String, Value>, id: NodeId, path: &Path<'_>) {
        if !map.values().any(Value::is_null) {
            return;
        }
        let plan = self.plan;
        map.retain(|key, value| {
            if !value.is_null() || plan.requires(id, key) {
                return true;
            }
            let Some(property) = plan.property(id, key) else { return true };
            if self.accepts(property, value) != Some(false) {
                return true;
            }
            self.changes.add(ChangeKind::NullRemoved, || {
                (
                    path.then(Step::Key(key)).pointer(),
                    "null was read as the absence of this optional parameter".to_owned(),
                )
            });
            false
        });
    }

    /// Warns of parameters that the schema does not define, if it defines any.
    fn warn_unknown(&mut self, map: &Map<String, Value>, id: NodeId, path: &Path<'_>) {
        let plan = self.plan;
        let Some(node) = plan.node(id) else { return };
        let mut unknown = map.keys().filter(|key| node.property(key).is_none()).peekable();
        if unknown.peek().is_none() || plan.takes_others(id) || !plan.names_any(id) {
            return;
        }
        for key in unknown.filter(|key| !plan.knows(id, key)) {
            if self.warnings.len() >= MAX_WARNINGS {
                return;
            }
            let names = plan.names(id);
            let hint = nearest(key, names.iter().copied())
                .map(|name| format!("; did you mean {name:?}?"))
                .unwrap_or_default();
            let place = path.pointer();
            let place = if place.is_empty() { place } else { format!(" in {place}") };
            let warning =
                format!("unknown parameter {:?}{place} was ignored{hint}", shorten(key, 60));
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Removes the given defaults.
pub(super) fn remove_defaults(value: &mut Value, defaults: &[AppliedDefault]) {
    for (object, name) in defaults.iter().rev() {
        if let Some(Value::Object(map)) = value.pointer_mut(object) {
            map.remove(name.as_ref());
        }
    }
}
