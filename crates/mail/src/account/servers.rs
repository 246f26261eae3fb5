//! The servers of a mail domain: those of well-known providers, from their own help pages, and
//! `imap.` and `smtp.` for all others, which is what most use.

use std::borrow::Cow;

/// Host names of a domain.
pub(super) struct Servers {
    pub(super) imap: Cow<'static, str>,
    pub(super) smtp: Cow<'static, str>,
}

/// Domain, IMAP server, submission server.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (&["gmail.com", "googlemail.com"], "imap.gmail.com", "smtp.gmail.com"),
    (
        &["outlook.com", "hotmail.com", "live.com", "msn.com"],
        "outlook.office365.com",
        "smtp-mail.outlook.com",
    ),
    (&["yahoo.com", "yahoo.de", "ymail.com"], "imap.mail.yahoo.com", "smtp.mail.yahoo.com"),
    (&["icloud.com", "me.com", "mac.com"], "imap.mail.me.com", "smtp.mail.me.com"),
    (&["gmx.de", "gmx.at", "gmx.ch"], "imap.gmx.net", "mail.gmx.net"),
    (&["gmx.com"], "imap.gmx.com", "mail.gmx.com"),
    (&["fastmail.com", "fastmail.fm"], "imap.fastmail.com", "smtp.fastmail.com"),
    (&["t-online.de"], "secureimap.t-online.de", "securesmtp.t-online.de"),
];

/// The servers of a domain.
pub(super) fn servers_of(domain: &str) -> Servers {
    let domain = domain.to_lowercase();
    let known = KNOWN.iter().find(|(domains, ..)| domains.contains(&domain.as_str()));
    match known {
        Some((_, imap, smtp)) => Servers { imap: (*imap).into(), smtp: (*smtp).into() },
        None => {
            Servers { imap: format!("imap.{domain}").into(), smtp: format!("smtp.{domain}").into() }
        }
    }
}
