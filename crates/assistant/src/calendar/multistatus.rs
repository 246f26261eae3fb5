//! Calendar files in a multi-status response (RFC 4918, 13; RFC 4791, 9.6).
#![deny(clippy::indexing_slicing)]

use quick_xml::events::Event;
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::{NsReader, XmlVersion};

/// The namespace of CalDAV.
const CALDAV: Namespace<'_> = Namespace(b"urn:ietf:params:xml:ns:caldav");
/// The element that contains a file.
const CALENDAR_DATA: &[u8] = b"calendar-data";

/// Returns the texts of all `calendar-data` elements.
///
/// # Errors
/// The text is not well-formed XML.
pub(super) fn calendar_data(xml: &str) -> Result<Vec<String>, quick_xml::Error> {
    let mut reader = NsReader::from_str(xml);
    let mut files = Vec::new();
    let mut current: Option<String> = None;
    loop {
        let (namespace, event) = reader.read_resolved_event()?;
        let is_caldav = namespace == ResolveResult::Bound(CALDAV);
        match event {
            Event::Start(start) if is_caldav && start.local_name().as_ref() == CALENDAR_DATA => {
                current = Some(String::new());
            }
            Event::End(end) if is_caldav && end.local_name().as_ref() == CALENDAR_DATA => {
                files.extend(current.take());
            }
            Event::Text(text) => {
                if let Some(file) = &mut current {
                    file.push_str(&text.xml_content(XmlVersion::Implicit1_0)?);
                }
            }
            Event::CData(text) => {
                if let Some(file) = &mut current {
                    file.push_str(&text.xml_content(XmlVersion::Implicit1_0)?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(file) = &mut current {
                    file.extend(character(&reference)?);
                }
            }
            Event::Eof => return Ok(files),
            _ => {}
        }
    }
}

/// Returns the character of a reference; unknown entities are omitted.
fn character(
    reference: &quick_xml::events::BytesRef<'_>,
) -> Result<Option<char>, quick_xml::Error> {
    if let Some(numbered) = reference.resolve_char_ref()? {
        return Ok(Some(numbered));
    }
    let named = match &**reference {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => None,
    };
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_under_any_prefix() {
        let answer = "<?xml version='1.0'?><multistatus xmlns=\"DAV:\" xmlns:X=\"urn:ietf:params:xml:ns:caldav\"><response><href>/a.ics</href><propstat><prop><X:calendar-data>BEGIN:VCALENDAR&#13;\nSUMMARY:a &amp; b\n</X:calendar-data></prop></propstat></response><response><propstat><prop><calendar-data>not of CalDAV</calendar-data><X:calendar-data><![CDATA[two <2>]]></X:calendar-data></prop></propstat></response></multistatus>";
        assert_eq!(
            calendar_data(answer).unwrap(),
            ["BEGIN:VCALENDAR\r\nSUMMARY:a & b\n", "two <2>"]
        );
        assert!(calendar_data("<a><b></a>").is_err());
        assert!(calendar_data("").unwrap().is_empty());
    }
}
