//! The schema in the form that the decoder walks: nodes with their types, properties and
//! alternatives, with references resolved. The validator decides whether a value is valid; the plan
//! shows the conversions that could make it valid.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema_references::{Document, identity, push_segment};
use super::type_set::TypeSet;

/// Index of a node in its plan.
pub(super) type NodeId = usize;

/// The rule of a schema for properties that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdditionalProperties {
    /// No rule: they are accepted and ignored.
    Unsaid,
    /// They are data too.
    Meant,
    /// They are rejected.
    Refused,
    /// They follow this schema.
    Follow(NodeId),
}

/// The part of a value to which a subschema applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SubschemaPosition {
    Property(Box<str>),
    AnyProperty,
    Item(usize),
    AnyItem,
}

/// One schema object.
#[derive(Debug)]
pub(super) struct Node {
    /// Its location as a pointer fragment: the key of its validator.
    pub(super) at: Box<str>,
    pub(super) types: TypeSet,
    /// Sorted by name.
    pub(super) properties: Box<[(Box<str>, NodeId)]>,
    /// Sorted.
    pub(super) required: Box<[Box<str>]>,
    pub(super) defaults: Box<[(Box<str>, Value)]>,
    pub(super) others: AdditionalProperties,
    pub(super) prefix: Box<[NodeId]>,
    pub(super) items: Option<NodeId>,
    /// Schemas that apply to the same value: `allOf`, `$ref`.
    pub(super) all: Box<[NodeId]>,
    /// `anyOf` and `oneOf`: one of each group applies to the same value.
    pub(super) choices: Box<[Box<[NodeId]>]>,
    /// `not`, `if`, `then`, `else`, dependent schemas: they cause no conversions.
    pub(super) conditions: Box<[NodeId]>,
    /// Subschemas for parts of the value that cause no conversions.
    pub(super) parts: Box<[(SubschemaPosition, NodeId)]>,
    /// The values of `enum` or `const`.
    pub(super) allowed: Box<[Value]>,
}

impl Node {
    pub(super) fn property(&self, name: &str) -> Option<NodeId> {
        let found = self.properties.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        self.properties.get(found).map(|(_, node)| *node)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.required.binary_search_by(|known| known.as_ref().cmp(name)).is_ok()
    }

    /// Returns every node that applies to the same value.
    pub(super) fn in_place(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.all.iter().chain(self.choices.iter().flatten()).chain(self.conditions.iter()).copied()
    }
}

/// A schema's nodes; the first is the root.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<Node>,
}

/// The root of every plan.
pub(super) const ROOT: NodeId = 0;

impl Plan {
    /// Compiles a checked document; unresolvable references are omitted.
    pub(super) fn compile(root: &Value) -> Self {
        let mut compiler =
            Compiler { document: Document::new(root), ids: HashMap::new(), queue: Vec::new() };
        compiler.id(root, "#".to_owned());
        let mut nodes = Vec::new();
        while let Some((schema, at)) = compiler.queue.get(nodes.len()).cloned() {
            nodes.push(compiler.node(schema, at));
        }
        Self { nodes }
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the nodes that apply to the same value as `id`, beginning with `id`. A checked
    /// schema has no cycle here.
    fn together(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        let mut stack = vec![id];
        std::iter::from_fn(move || {
            let node = self.nodes.get(stack.pop()?)?;
            stack.extend(node.in_place());
            Some(node)
        })
    }

    /// Returns the schema of a property.
    pub(super) fn property(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.together(id).find_map(|node| node.property(name))
    }

    /// Returns whether a property is declared.
    pub(super) fn knows(&self, id: NodeId, name: &str) -> bool {
        self.property(id, name).is_some()
    }

    /// Returns whether a property is required, at least in some cases.
    pub(super) fn requires(&self, id: NodeId, name: &str) -> bool {
        self.together(id).any(|node| node.requires(name))
    }

    /// Returns whether undeclared properties have a meaning.
    pub(super) fn takes_others(&self, id: NodeId) -> bool {
        self.together(id).any(|node| {
            matches!(node.others, AdditionalProperties::Meant | AdditionalProperties::Follow(_))
        })
    }

    /// Returns whether any property is declared.
    pub(super) fn names_any(&self, id: NodeId) -> bool {
        self.together(id).any(|node| !node.properties.is_empty())
    }

    /// Returns the names of all declared properties.
    pub(super) fn names(&self, id: NodeId) -> Vec<&str> {
        self.together(id)
            .flat_map(|node| node.properties.iter().map(|(name, _)| name.as_ref()))
            .collect()
    }
}

struct Compiler<'s> {
    document: Document<'s>,
    ids: HashMap<usize, NodeId>,
    /// Schemas by node id; those after the finished nodes are pending.
    queue: Vec<(&'s Value, String)>,
}

impl<'s> Compiler<'s> {
    fn id(&mut self, schema: &'s Value, at: String) -> NodeId {
        *self.ids.entry(identity(schema)).or_insert_with(|| {
            self.queue.push((schema, at));
            self.queue.len() - 1
        })
    }

    fn child(&mut self, schema: &'s Value, at: &str, path: &[&str]) -> NodeId {
        let mut place = at.to_owned();
        path.iter().for_each(|segment| push_segment(&mut place, segment));
        self.id(schema, place)
    }

    fn node(&mut self, schema: &'s Value, at: String) -> Node {
        let empty = Map::new();
        // A boolean schema causes no conversions, like an empty one.
        let map: &Map<String, Value> = match schema {
            Value::Object(map) => map,
            _ => return self.build(&empty, at),
        };
        let mut node = self.build(map, at);
        self.add_properties(&mut node, map);
        self.add_items(&mut node, map);
        self.add_same_value(&mut node, map);
        self.add_parts(&mut node, map);
        node
    }

    fn build(&self, map: &Map<String, Value>, at: String) -> Node {
        let allowed = match (map.get("enum"), map.get("const")) {
            (Some(Value::Array(values)), _) => values.clone(),
            (_, Some(value)) => vec![value.clone()],
            _ => Vec::new(),
        };
        let names = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut required: Vec<Box<str>> = names.filter_map(Value::as_str).map(Box::from).collect();
        required.sort_unstable();
        Node {
            at: at.into(),
            types: TypeSet::declared(map),
            properties: Box::default(),
            required: required.into(),
            defaults: Box::default(),
            others: AdditionalProperties::Unsaid,
            prefix: Box::default(),
            items: None,
            all: Box::default(),
            choices: Box::default(),
            conditions: Box::default(),
            parts: Box::default(),
            allowed: allowed.into(),
        }
    }

    fn add_properties(&mut self, node: &mut Node, map: &'s Map<String, Value>) {
        let declared = map.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut properties = Vec::new();
        let mut defaults = Vec::new();
        for (name, schema) in declared {
            let child = self.child(schema, &node.at, &["properties", name]);
            properties.push((Box::from(name.as_str()), child));
            if let Some(default) = schema.get("default") {
                defaults.push((Box::from(name.as_str()), default.clone()));
            }
        }
        properties.sort_unstable_by(|a: &(Box<str>, NodeId), b| a.0.cmp(&b.0));
        node.properties = properties.into();
        node.defaults = defaults.into();
        node.others = match map.get("additionalProperties") {
            _ if map.contains_key("patternProperties") => AdditionalProperties::Meant,
            Some(Value::Bool(false)) => AdditionalProperties::Refused,
            Some(schema @ Value::Object(_)) => AdditionalProperties::Follow(self.child(
                schema,
                &node.at,
                &["additionalProperties"],
            )),
            Some(_) => AdditionalProperties::Meant,
            None => match map.get("unevaluatedProperties") {
                None => AdditionalProperties::Unsaid,
                Some(Value::Bool(false)) => AdditionalProperties::Refused,
                Some(_) => AdditionalProperties::Meant,
            },
        };
    }

    fn add_items(&mut self, node: &mut Node, map: &'s Map<String, Value>) {
        // Before 2020-12 a list in `items` had the meaning of today's `prefixItems`.
        let (prefix, key) = match (map.get("prefixItems"), map.get("items")) {
            (Some(Value::Array(list)), _) => (list.as_slice(), "prefixItems"),
            (_, Some(Value::Array(list))) => (list.as_slice(), "items"),
            _ => (&[][..], "items"),
        };
        let prefix: Vec<NodeId> = prefix
            .iter()
            .enumerate()
            .map(|(index, schema)| self.child(schema, &node.at, &[key, &index.to_string()]))
            .collect();
        node.prefix = prefix.into();
        node.items = match map.get("items") {
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => {
                Some(self.child(schema, &node.at, &["items"]))
            }
            _ => None,
        };
    }

    fn add_same_value(&mut self, node: &mut Node, map: &'s Map<String, Value>) {
        let mut all = self.list(map, "allOf", &node.at);
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let target = map
                .get(key)
                .and_then(Value::as_str)
                .map(|reference| self.document.resolve(reference));
            if let Some(Ok((schema, at))) = target {
                all.push(self.id(schema, at));
            }
        }
        node.all = all.into();
        let choices =
            ["anyOf", "oneOf"].map(|key| self.list(map, key, &node.at).into_boxed_slice());
        node.choices = choices.into_iter().filter(|branches| !branches.is_empty()).collect();
        let mut conditions = Vec::new();
        for key in ["not", "if", "then", "else"] {
            if let Some(schema) = map.get(key) {
                conditions.push(self.child(schema, &node.at, &[key]));
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            for (name, schema) in map.get(key).and_then(Value::as_object).into_iter().flatten() {
                if !schema.is_array() {
                    conditions.push(self.child(schema, &node.at, &[key, name]));
                }
            }
        }
        node.conditions = conditions.into();
    }

    fn list(&mut self, map: &'s Map<String, Value>, key: &str, at: &str) -> Vec<NodeId> {
        let schemas = map.get(key).and_then(Value::as_array).into_iter().flatten();
        schemas
            .enumerate()
            .map(|(index, schema)| self.child(schema, at, &[key, &index.to_string()]))
            .collect()
    }

    fn add_parts(&mut self, node: &mut Node, map: &'s Map<String, Value>) {
        let mut parts = Vec::new();
        for (pattern, schema) in
            map.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
        {
            parts.push((
                SubschemaPosition::AnyProperty,
                self.child(schema, &node.at, &["patternProperties", pattern]),
            ));
        }
        for (key, place) in [
            ("propertyNames", SubschemaPosition::AnyProperty),
            ("unevaluatedProperties", SubschemaPosition::AnyProperty),
            ("contains", SubschemaPosition::AnyItem),
            ("unevaluatedItems", SubschemaPosition::AnyItem),
            ("additionalItems", SubschemaPosition::AnyItem),
        ] {
            if let Some(schema) = map.get(key) {
                parts.push((place, self.child(schema, &node.at, &[key])));
            }
        }
        node.parts = parts.into();
    }
}
