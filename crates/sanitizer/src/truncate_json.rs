//! Truncates a JSON value so that it stays valid JSON.
//!
//! Long strings, arrays and objects lose their middle; a marker with exact counts takes its place:
//! in a string as text, in an array as an element, in an object as a member named `…`. Parts that
//! fit stay complete: the space is divided so that small siblings are never truncated in favour of
//! a large one. If an equal share would leave little of each, items are omitted instead.
//! Deterministic; time is linear in the value except for one sort per truncated container.

use serde_json::{Map, Value};

/// Smallest share, in characters, for a truncated item; below it, whole items are omitted.
const SMALLEST_SHARE: usize = 160;

/// Deepest level that is shown; a marker replaces deeper ones. This bounds the recursion for values
/// that no parser created (a parsed one has at most 128 levels).
const DEEPEST: usize = 128;

/// A marker longer than this is never written.
const LONGEST_MARKER: usize = 64;

/// The omitted parts of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JsonCut {
    /// Number of characters of the whole value, serialized without blanks.
    pub total_chars: usize,
    /// Number of omitted array elements, without their content.
    pub omitted_items: usize,
    /// Number of omitted object members, without their content.
    pub omitted_members: usize,
    /// Number of omitted characters of strings.
    pub omitted_chars: usize,
}

/// A value that fits the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedJson {
    /// The value; unchanged if it was short enough.
    pub value: Value,
    /// The omitted parts, if any.
    pub cut: Option<JsonCut>,
}

/// Truncates a value to at most `max_chars` characters, serialized without blanks. Fewer than three
/// characters cannot contain a marker; the value is then `0`.
///
/// ```
/// use serde_json::json;
/// use toolcrib_sanitizer::truncate_json;
///
/// let value = json!({"name": "report", "rows": (0..1_000).collect::<Vec<_>>()});
/// let short = truncate_json(&value, 200);
/// assert!(short.value.to_string().chars().count() <= 200);
/// assert_eq!(short.value["name"], "report");
/// assert!(short.cut.unwrap().omitted_items > 0);
/// ```
#[must_use]
pub fn truncate_json(value: &Value, max_chars: usize) -> TruncatedJson {
    let size = Size::of(value, 0);
    if size.chars <= max_chars {
        return TruncatedJson { value: value.clone(), cut: None };
    }
    let mut cut = JsonCut { total_chars: size.chars, ..JsonCut::default() };
    let value = shorten(value, &size, max_chars, &mut cut);
    TruncatedJson { value, cut: Some(cut) }
}

/// The serialized sizes of a value and of all its parts.
struct Size {
    chars: usize,
    parts: Vec<Self>,
}

impl Size {
    fn of(value: &Value, depth: usize) -> Self {
        if depth >= DEEPEST && matches!(value, Value::Array(_) | Value::Object(_)) {
            // Larger than any limit, so that it is truncated.
            return Self { chars: usize::MAX / 4, parts: Vec::new() };
        }
        match value {
            Value::Array(items) => {
                let parts: Vec<Self> = items.iter().map(|item| Self::of(item, depth + 1)).collect();
                Self { chars: container(parts.iter().map(|part| part.chars)), parts }
            }
            Value::Object(members) => {
                let parts: Vec<Self> =
                    members.values().map(|value| Self::of(value, depth + 1)).collect();
                let sizes = members.keys().zip(&parts).map(|(key, part)| member(key, part.chars));
                Self { chars: container(sizes), parts }
            }
            Value::String(text) => Self { chars: string_chars(text), parts: Vec::new() },
            other => Self { chars: other.to_string().len(), parts: Vec::new() },
        }
    }
}

/// Brackets and commas around parts of these sizes.
fn container(parts: impl Iterator<Item = usize>) -> usize {
    let (count, sum) =
        parts.fold((0_usize, 0_usize), |(count, sum), part| (count + 1, sum.saturating_add(part)));
    sum.saturating_add(2 + count.saturating_sub(1))
}

fn member(key: &str, value: usize) -> usize {
    value.saturating_add(string_chars(key) + 1)
}

fn string_chars(text: &str) -> usize {
    2 + text.chars().map(escaped_chars).sum::<usize>()
}

/// Returns the number of characters that `serde_json` writes for one character.
fn escaped_chars(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{C}' => 2,
        '\0'..' ' => 6,
        _ => 1,
    }
}

fn shorten(value: &Value, size: &Size, room: usize, cut: &mut JsonCut) -> Value {
    if size.chars <= room {
        return value.clone();
    }
    match value {
        Value::String(text) => shorten_string(text, room, cut),
        Value::Array(items) if size.parts.len() == items.len() => {
            shorten_array(items, &size.parts, room, cut)
        }
        Value::Object(members) if size.parts.len() == members.len() => {
            shorten_object(members, &size.parts, room, cut)
        }
        _ => smallest(room),
    }
}

/// Returns the shortest value that still shows that something was omitted.
fn smallest(room: usize) -> Value {
    if room >= 3 { Value::from("…") } else { Value::from(0) }
}

fn shorten_string(text: &str, room: usize, cut: &mut JsonCut) -> Value {
    let total = text.chars().count();
    let marker = |omitted| format!("…[{} of {} characters omitted]…", omitted, total);
    let Some(room) = room.checked_sub(2 + marker(total).chars().count()) else {
        cut.omitted_chars += total;
        return smallest(room);
    };
    let head: String = within(text.chars(), room / 2).collect();
    let tail: Vec<char> = within(text.chars().rev(), room / 2).collect();
    let omitted = total - head.chars().count() - tail.len();
    cut.omitted_chars += omitted;
    let tail: String = tail.into_iter().rev().collect();
    Value::String(format!("{head}{}{tail}", marker(omitted)))
}

/// Returns the first characters that fit, counted in their written form.
fn within(chars: impl Iterator<Item = char>, room: usize) -> impl Iterator<Item = char> {
    chars.scan(room, |left, c| {
        *left = left.checked_sub(escaped_chars(c))?;
        Some(c)
    })
}

fn shorten_array(items: &[Value], sizes: &[Size], room: usize, cut: &mut JsonCut) -> Value {
    let wanted: Vec<usize> = sizes.iter().map(|size| size.chars).collect();
    let Some(plan) = Plan::new(&wanted, &vec![0; wanted.len()], room) else {
        cut.omitted_items += items.len();
        return marked_alone(items.len(), "items", room, |text| Value::Array(vec![text]));
    };
    let mut kept = Vec::with_capacity(plan.head + plan.tail + 1);
    for (index, (item, size)) in items.iter().zip(sizes).enumerate() {
        if index == plan.head && plan.omitted > 0 {
            cut.omitted_items += plan.omitted;
            kept.push(Value::from(marker(plan.omitted, items.len(), "items")));
        }
        if plan.keeps(index, items.len()) {
            kept.push(shorten(item, size, plan.share, cut));
        }
    }
    Value::Array(kept)
}

fn shorten_object(
    members: &Map<String, Value>,
    sizes: &[Size],
    room: usize,
    cut: &mut JsonCut,
) -> Value {
    let wanted: Vec<usize> = sizes.iter().map(|size| size.chars).collect();
    let names: Vec<usize> = members.keys().map(|key| member(key, 0)).collect();
    let name = marker_name(members);
    let Some(plan) = Plan::new(&wanted, &names, room) else {
        cut.omitted_members += members.len();
        return marked_alone(members.len(), "members", room, |text| {
            Value::Object([(name, text)].into_iter().collect())
        });
    };
    let mut kept = Map::with_capacity(plan.head + plan.tail + 1);
    for (index, ((key, value), size)) in members.iter().zip(sizes).enumerate() {
        if index == plan.head && plan.omitted > 0 {
            cut.omitted_members += plan.omitted;
            kept.insert(name.clone(), marker(plan.omitted, members.len(), "members").into());
        }
        if plan.keeps(index, members.len()) {
            kept.insert(key.clone(), shorten(value, size, plan.share, cut));
        }
    }
    Value::Object(kept)
}

/// Returns `…`, lengthened until no member has the name.
fn marker_name(members: &Map<String, Value>) -> String {
    let mut name = "…".to_owned();
    while members.contains_key(&name) {
        name.push('…');
    }
    name
}

fn marker(omitted: usize, total: usize, what: &str) -> String {
    format!("… {} of {} {what} omitted …", omitted, total)
}

/// Returns a container that contains only the marker.
fn marked_alone(total: usize, what: &str, room: usize, wrap: impl FnOnce(Value) -> Value) -> Value {
    let marked = wrap(Value::from(marker(total, total, what)));
    if Size::of(&marked, 0).chars <= room { marked } else { smallest(room) }
}

/// The parts of a container that stay, and the maximum size of each.
struct Plan {
    head: usize,
    tail: usize,
    omitted: usize,
    share: usize,
}

impl Plan {
    /// Divides `room` among parts that need `wanted` characters each, besides the `fixed` ones for
    /// their names. `None` if not even one part fits.
    fn new(wanted: &[usize], fixed: &[usize], room: usize) -> Option<Self> {
        let all = wanted.len();
        let names = container(fixed.iter().copied());
        if let Some(left) = room.checked_sub(names)
            && let Some(share) = fair_share(wanted, left)
            && share >= SMALLEST_SHARE
        {
            return Some(Self { head: all, tail: 0, omitted: 0, share });
        }
        // Whole items from both ends in turn, each up to the smallest share, or up to its part of
        // the space if that is small.
        let room = room.checked_sub(2 + LONGEST_MARKER)?;
        let share = SMALLEST_SHARE.min(room / 2).max(room / 4);
        let cost = |index: usize| Some(wanted.get(index)?.min(&share) + fixed.get(index)? + 1);
        let (mut head, mut tail, mut used) = (0, 0, 0);
        while head + tail < all {
            let from_head = head <= tail;
            let next = if from_head { head } else { all - 1 - tail };
            let Some(cost) = cost(next).filter(|cost| used + cost <= room) else { break };
            used += cost;
            if from_head { head += 1 } else { tail += 1 }
        }
        (head > 0).then_some(Self { head, tail, omitted: all - head - tail, share })
    }

    fn keeps(&self, index: usize, all: usize) -> bool {
        index < self.head || index >= all - self.tail
    }
}

/// Returns the largest share such that all parts, each truncated to it, fit into `room`.
fn fair_share(wanted: &[usize], room: usize) -> Option<usize> {
    let mut sorted = wanted.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (index, part) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *part > share {
            return Some(share);
        }
        left -= part;
    }
    sorted.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn chars(value: &Value) -> usize {
        value.to_string().chars().count()
    }

    #[test]
    fn a_small_value_stays() {
        let value = json!({"a": [1, 2.5, null, true], "b": "ü\n\u{1}"});
        let bounded = truncate_json(&value, chars(&value));
        assert_eq!(bounded, TruncatedJson { value, cut: None });
    }

    #[test]
    fn a_long_array_loses_its_middle() {
        let value: Value = (0..10_000).collect();
        let bounded = truncate_json(&value, 2_000);
        let items = bounded.value.as_array().unwrap();
        let cut = bounded.cut.unwrap();
        assert_eq!(items[..3], [json!(0), json!(1), json!(2)]);
        assert_eq!(items.last(), Some(&json!(9_999)));
        assert_eq!(cut.omitted_items + items.len() - 1, 10_000);
        let marker = format!("… {} of 10000 items omitted …", cut.omitted_items);
        assert!(items.contains(&json!(marker)));
        assert!((1_900..=2_000).contains(&chars(&bounded.value)), "{}", chars(&bounded.value));
    }

    #[test]
    fn a_large_member_is_cut_and_the_small_ones_stay() {
        let value = json!({"id": 7, "text": "x".repeat(50_000), "tags": ["a", "b"]});
        let bounded = truncate_json(&value, 1_000);
        assert_eq!(bounded.value["id"], 7);
        assert_eq!(bounded.value["tags"], json!(["a", "b"]));
        let text = bounded.value["text"].as_str().unwrap();
        let omitted = bounded.cut.unwrap().omitted_chars;
        assert!(text.contains(&format!("…[{} of 50000 characters omitted]…", omitted)));
        assert_eq!(text.matches('x').count(), 50_000 - omitted);
        assert!((950..=1_000).contains(&chars(&bounded.value)));
    }

    #[test]
    fn a_long_object_gets_a_marker_member_of_its_own() {
        let mut members: Map<String, Value> =
            (0..1_000).map(|n| (format!("k{n}"), json!(n))).collect();
        members.insert("…".to_owned(), json!("mine"));
        let bounded = truncate_json(&Value::Object(members), 500);
        let kept = bounded.value.as_object().unwrap();
        assert_eq!(kept["…"], "mine");
        let omitted = bounded.cut.unwrap().omitted_members;
        assert_eq!(kept["……"], format!("… {omitted} of 1001 members omitted …"));
        assert_eq!(omitted + kept.len() - 1, 1_001);
    }

    #[test]
    fn a_value_too_deep_is_closed_by_a_marker() {
        let deep = (0..1_000).fold(json!(1), |inner, _| json!([inner]));
        let bounded = truncate_json(&deep, 10_000);
        assert!(bounded.cut.is_some());
        assert!(chars(&bounded.value) <= 10_000);
        assert!(bounded.value.to_string().contains('…'));
    }

    #[test]
    fn there_is_a_value_for_every_room() {
        let value = json!({"a": "x".repeat(100), "b": [1, 2, 3]});
        for room in 0..120 {
            let bounded = truncate_json(&value, room);
            assert!(chars(&bounded.value) <= room.max(1), "{room}: {}", bounded.value);
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "(\\PC|[\u{0}-\u{20}\"\\\\]){0,300}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 120, 20, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                proptest::collection::vec(("\\PC{0,12}", inner), 0..20)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn the_bound_holds_and_the_size_is_exact(value in values(), room in 3_usize..3_000) {
            prop_assert_eq!(Size::of(&value, 0).chars, chars(&value));
            let bounded = truncate_json(&value, room);
            prop_assert!(chars(&bounded.value) <= room, "{} > {room}", chars(&bounded.value));
            prop_assert_eq!(bounded.cut.is_none(), chars(&value) <= room);
            if let Some(cut) = bounded.cut {
                prop_assert_eq!(cut.total_chars, chars(&value));
            } else {
                prop_assert_eq!(bounded.value, value);
            }
        }
    }
}
