//! SMS in results.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::inbox::StoredSms;

/// Maximum characters of a preview.
const PREVIEW_CHARS: usize = 200;

/// Returns a row of a list: the beginning of the text, on one line.
pub(super) fn preview(sms: &StoredSms) -> Value {
    let words = sms.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut preview: String = words.chars().take(PREVIEW_CHARS).collect();
    if words.chars().count() > PREVIEW_CHARS {
        preview.pop();
        preview.push('…');
    }
    json!({
        "id": sms.id, "from": sms.from, "received_at": time(sms.at), "unread": !sms.is_read,
        "preview": preview,
    })
}

/// Returns an SMS with its text.
pub(super) fn whole(sms: &StoredSms) -> Value {
    let mut row = json!({
        "id": sms.id, "from": sms.from, "received_at": time(sms.at), "text": sms.text,
    });
    if sms.is_changed {
        row["note"] = json!(
            "Control characters, marks of direction or invisible characters were removed, or the text was cut."
        );
    }
    row
}

fn time(at: i64) -> String {
    Timestamp::from_millisecond(at).map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_one_line_of_at_most_200_characters() {
        let sms = StoredSms {
            id: 1,
            from: "+1".to_owned(),
            text: "ä\n b ".repeat(200),
            at: 0,
            is_changed: false,
            is_read: false,
        };
        let row = preview(&sms);
        let text = row["preview"].as_str().unwrap();
        assert_eq!(text.chars().count(), 200);
        assert!(text.starts_with("ä b ä") && text.ends_with('…') && !text.contains('\n'));
        assert_eq!(row["received_at"], "1970-01-01T00:00:00Z");
    }
}
