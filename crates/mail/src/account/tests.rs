//! Accounts: names, servers, ports.

use super::model::{NewAccount, Security};

#[test]
fn servers_follow_from_the_address_and_ports_from_the_protocol() {
    for (address, imap, smtp) in [
        ("ann@gmail.com", "imap.gmail.com:993", "smtp.gmail.com:587"),
        ("ann@GMX.de", "imap.gmx.net:993", "mail.gmx.net:587"),
        ("ann@example.org", "imap.example.org:993", "smtp.example.org:587"),
    ] {
        let new = NewAccount { address: address.to_owned(), ..NewAccount::default() };
        let account = new.complete().unwrap();
        assert_eq!(
            (account.imap.to_string(), account.smtp.to_string()),
            (imap.into(), smtp.into())
        );
        assert_eq!(account.imap.security(), Security::Tls);
        assert_eq!(account.smtp.security(), Security::Starttls);
    }
}

#[test]
fn addresses_that_are_none_are_refused() {
    for bad in ["", "ann", "@x.org", "ann@", "ann@x.org\r\nBcc: b@x.org", "a <a@x.org>"] {
        let new = NewAccount { address: bad.to_owned(), ..NewAccount::default() };
        assert!(new.complete().is_err(), "{bad}");
    }
}
