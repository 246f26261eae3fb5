//! The bytes of an answer, from the short forms of the file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its data.
    pub data: String,
    /// Where its data end in the body, in bytes: from here on it has arrived, even if the blank
    /// line after it has not.
    pub end: usize,
}

/// Shapes that many events share, by name.
pub(super) type Frames = BTreeMap<String, Value>;

/// One item of `sse` or `lines`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Item {
    /// The data, as they are.
    Text(String),
    /// Name of a frame and what fills its holes; a frame that is a list is several events.
    Framed(Vec<Value>),
    /// Everything said.
    Full(FullItem),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FullItem {
    data: Option<Value>,
    frame: Option<Vec<Value>>,
    event: Option<String>,
    /// A line that begins with a colon, before the event or alone.
    comment: Option<String>,
    /// How often it is sent.
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

/// How events are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LineEnding {
    #[default]
    Lf,
    Crlf,
    Cr,
}

impl LineEnding {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// The form of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    pub(super) eol: LineEnding,
    /// Whether a byte order mark comes first.
    pub(super) bom: bool,
    /// Whether each event is named by the `type` of its data.
    pub(super) named: bool,
    /// Whether each event that is an object gets a `sequence_number`.
    pub(super) numbered: bool,
    /// Whether `data:` is followed by no blank.
    pub(super) tight: bool,
}

struct ExpandedItem {
    data: Option<String>,
    event: Option<String>,
    comment: Option<String>,
}

/// A stream of server-sent events.
pub(super) fn sse(
    items: &[Item],
    frames: &Frames,
    style: Style,
) -> Result<(Vec<u8>, Vec<Event>), String> {
    let (eol, space) = (style.eol.as_str(), if style.tight { "" } else { " " });
    let mut text = if style.bom { "\u{feff}".to_owned() } else { String::new() };
    let mut events = Vec::new();
    for plain in plain_items(items, frames, style)? {
        if let Some(comment) = plain.comment {
            text += &format!(":{comment}{eol}");
        }
        if let Some(event) = plain.event {
            text += &format!("event: {event}{eol}");
        }
        if let Some(data) = plain.data {
            for line in data.split('\n') {
                text += &format!("data:{space}{line}{eol}");
            }
            events.push(Event { data, end: text.len() - eol.len() });
        }
        text += eol;
    }
    Ok((text.into_bytes(), events))
}

/// Lines of JSON.
pub(super) fn lines(
    items: &[Item],
    frames: &Frames,
    style: Style,
) -> Result<(Vec<u8>, Vec<Event>), String> {
    let mut text = String::new();
    let mut events = Vec::new();
    for plain in plain_items(items, frames, style)? {
        let data = plain.data.unwrap_or_default();
        text += &data;
        events.push(Event { data, end: text.len() });
        text += style.eol.as_str();
    }
    Ok((text.into_bytes(), events))
}

fn plain_items(items: &[Item], frames: &Frames, style: Style) -> Result<Vec<ExpandedItem>, String> {
    let mut all = Vec::new();
    for item in items {
        match item {
            Item::Text(data) => {
                all.push(ExpandedItem { data: Some(data.clone()), event: None, comment: None });
            }
            Item::Framed(parts) => {
                // A frame that is a list is several events.
                let events = match framed(parts, frames)? {
                    Value::Array(events) => events,
                    event => vec![event],
                };
                for event in events {
                    let data = numbered(event, all.len(), style);
                    all.push(plain(Some(data), None, None, style));
                }
            }
            Item::Full(full) => {
                let data = match (&full.data, &full.frame) {
                    (Some(_), Some(_)) => {
                        return Err("an item has data or a frame, not both".into());
                    }
                    (Some(data), None) => Some(expanded(data)?),
                    (None, Some(parts)) => Some(framed(parts, frames)?),
                    (None, None) => None,
                };
                for _ in 0..full.times {
                    let data = data.clone().map(|data| numbered(data, all.len(), style));
                    all.push(plain(data, full.event.clone(), full.comment.clone(), style));
                }
            }
        }
    }
    Ok(all)
}

/// The event with its number, unless it says its own.
fn numbered(mut data: Value, number: usize, style: Style) -> Value {
    if let (true, Some(object)) = (style.numbered, data.as_object_mut()) {
        object.entry("sequence_number").or_insert_with(|| number.into());
    }
    data
}

fn plain(
    data: Option<Value>,
    event: Option<String>,
    comment: Option<String>,
    style: Style,
) -> ExpandedItem {
    let kind = || data.as_ref()?.get("type")?.as_str().map(str::to_owned);
    let event = event.or_else(|| if style.named { kind() } else { None });
    let data = data.map(|data| match data {
        Value::String(text) => text,
        other => other.to_string(),
    });
    ExpandedItem { data, event, comment }
}

/// The frame of this name with its holes filled.
pub(super) fn framed(parts: &[Value], frames: &Frames) -> Result<Value, String> {
    let Some((Value::String(name), holes)) = parts.split_first() else {
        return Err("a list in a stream begins with the name of a frame".into());
    };
    let frame = frames.get(name).ok_or_else(|| format!("there is no frame \"{name}\""))?;
    let mut used = vec![false; holes.len()];
    let filled = fill(frame, holes, &mut used)?;
    match used.iter().position(|used| !used) {
        Some(hole) => Err(format!("the frame \"{name}\" has no hole ${hole}")),
        None => expanded(&filled),
    }
}

fn fill(frame: &Value, holes: &[Value], used: &mut [bool]) -> Result<Value, String> {
    Ok(match frame {
        Value::String(text) => match text.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) {
            Some(n) => {
                let hole = holes.get(n).ok_or_else(|| format!("nothing fills the hole {text}"))?;
                used.iter_mut().skip(n).take(1).for_each(|used| *used = true);
                hole.clone()
            }
            None => frame.clone(),
        },
        Value::Array(items) => {
            items.iter().map(|item| fill(item, holes, used)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(k, v)| Ok((k.clone(), fill(v, holes, used)?)));
            Value::Object(pairs.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// The value with every `{"$text": [part, [part, times], …]}` written out as one text.
pub(super) fn expanded(value: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::Array(items) => items.iter().map(expanded).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(map) => match map.get("$text") {
            Some(parts) if map.len() == 1 => long_text(parts)?.into(),
            _ => {
                let pairs = map.iter().map(|(key, value)| Ok((key.clone(), expanded(value)?)));
                Value::Object(pairs.collect::<Result<_, String>>()?)
            }
        },
        other => other.clone(),
    })
}

fn long_text(parts: &Value) -> Result<String, String> {
    let wrong = || "$text takes a list of texts and [text, times]".to_owned();
    let mut all = String::new();
    for part in parts.as_array().ok_or_else(wrong)? {
        let pair = part.as_array().map(|pair| (pair.first(), pair.get(1)));
        let (text, times) = match pair {
            None => (part.as_str(), Some(1)),
            Some((text, times)) => (text.and_then(Value::as_str), times.and_then(Value::as_u64)),
        };
        let times = times.and_then(|times| usize::try_from(times).ok()).ok_or_else(wrong)?;
        all += &text.ok_or_else(wrong)?.repeat(times);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frames() -> Frames {
        [
            ("d".to_owned(), json!({"type": "piece", "at": "$1", "t": "$0"})),
            ("two".to_owned(), json!([{"a": "$0"}, {"b": "$0"}])),
        ]
        .into()
    }

    fn items(items: Value) -> Vec<Item> {
        serde_json::from_value(items).unwrap()
    }

    #[test]
    fn events_as_bytes() {
        let all = items(json!([
            ["d", "a", 0],
            "[DONE]",
            {"comment": " ping"},
            {"data": "{\n}", "event": "e"},
            {"data": {"x": {"$text": ["<", ["ab", 3], ">"]}}, "times": 2},
        ]));
        let style = Style { named: true, ..Style::default() };
        let (bytes, events) = sse(&all, &frames(), style).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "event: piece\ndata: {\"type\":\"piece\",\"at\":0,\"t\":\"a\"}\n\n\
             data: [DONE]\n\n: ping\n\nevent: e\ndata: {\ndata: }\n\n\
             data: {\"x\":\"<ababab>\"}\n\ndata: {\"x\":\"<ababab>\"}\n\n"
        );
        assert!(text[..events[0].end].ends_with("\"a\"}") && events.len() == 5);
        let style = Style { numbered: true, ..Style::default() };
        let (bytes, _) = sse(&all, &frames(), style).unwrap();
        assert!(String::from_utf8(bytes).unwrap().ends_with("\"sequence_number\":5}\n\n"));
        let style = Style { eol: LineEnding::Crlf, bom: true, tight: true, ..Style::default() };
        let (bytes, _) = sse(&items(json!(["x"])), &frames(), style).unwrap();
        assert_eq!(bytes, "\u{feff}data:x\r\n\r\n".as_bytes());
        let (bytes, events) =
            lines(&items(json!([["d", 1, 2]])), &frames(), Style::default()).unwrap();
        assert_eq!(bytes.len(), events[0].end + 1);
        let (bytes, _) = lines(&items(json!([["two", 1]])), &frames(), Style::default()).unwrap();
        assert_eq!(bytes, b"{\"a\":1}\n{\"b\":1}\n");
    }

    #[test]
    fn mistakes_are_named() {
        let check = |item: Value, part: &str| {
            let error = sse(&items(json!([item])), &frames(), Style::default()).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check(json!(["e"]), "no frame \"e\"");
        check(json!(["d", "a"]), "hole $1");
        check(json!(["d", "a", 1, 2]), "no hole $2");
        check(json!({"data": {"$text": "a"}}), "$text takes");
        check(json!({"data": 1, "frame": ["d"]}), "not both");
    }
}
