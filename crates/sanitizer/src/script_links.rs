//! Links that run a script or contain a page (`javascript:`, `data:text/html`): flagged, not
//! changed, because only a person follows a link.
#![deny(clippy::indexing_slicing)]

use super::remote_images::decoded_prefix;
use super::report::{FlagKind, Report};

/// Flags the address of a link if it is a script.
pub(super) fn flag_script(address: &str, report: &mut Report) {
    if !may_be_script(address) {
        return;
    }
    let plain = decoded_prefix(address);
    let plain = plain.trim_start_matches(['<', '"', '\'', ' ']);
    let Some((scheme, _)) = plain.split_once(':') else { return };
    let is_script = match scheme {
        "javascript" | "vbscript" | "livescript" => !does_nothing(address),
        "data" => !is_picture(address),
        _ => false,
    };
    if is_script {
        report.flag(FlagKind::ScriptLink, address.split([')', '>', '\n']).next().unwrap_or(""));
    }
}

/// Quickly checks whether the address can be a script: the schemes begin with these letters, or
/// with an escape.
fn may_be_script(address: &str) -> bool {
    let first = address.trim_start_matches([' ', '\t', '\n', '\r', '<', '"', '\'']);
    matches!(
        first.as_bytes().first(),
        Some(b'j' | b'J' | b'v' | b'V' | b'd' | b'D' | b'l' | b'L' | b'&' | b'\\')
    )
}

/// Returns whether the link does nothing: converted pages contain `javascript:void(0)` and similar
/// links in place of buttons.
fn does_nothing(address: &str) -> bool {
    const IDLE: [&str; 7] = [
        "void(0)",
        "void(null)",
        "void0",
        "history.back()",
        "history.go(-1)",
        "window.print()",
        "",
    ];
    let Some((_, code)) = address.split_once(':') else { return false };
    let code: String = code.chars().take(40).filter(|c| !c.is_whitespace()).collect();
    IDLE.iter().any(|idle| {
        let rest = code.strip_prefix(idle).map(|rest| rest.trim_start_matches(';'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([')', '"', '\'', '>']))
    })
}

fn is_picture(address: &str) -> bool {
    let Some((_, kind)) = address.split_once(':') else { return false };
    let kind: String = kind.chars().take(12).collect::<String>().to_ascii_lowercase();
    ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "application/p"]
        .iter()
        .any(|picture| kind.starts_with(picture))
}
