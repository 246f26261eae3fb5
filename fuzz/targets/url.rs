//! `net::check_url`: a URL that passes names an allowed address in every reading.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use toolcrib_net::{AddressClass, AddressPolicy, Host, Target, check_url, classify};

fuzz_target!(|raw: &str| {
    let policy = AddressPolicy::public_only();
    match check_url(raw, &policy) {
        Ok(target) => judge(raw, &target, &policy),
        Err(denied) => assert!(!denied.rule.id().is_empty() && !denied.to_string().is_empty()),
    }
});

fn judge(raw: &str, target: &Target, policy: &AddressPolicy) {
    let url = target.url();
    assert!(["http", "https"].contains(&url.scheme()), "{raw:?}");
    assert!(url.username().is_empty() && url.password().is_none(), "credentials in {raw:?}");
    match target.host() {
        Host::Addr(ip) => {
            assert_eq!(classify(*ip), AddressClass::Public, "{raw:?}");
            assert!(!is_local(*ip), "{raw:?} leads to {ip}");
        }
        Host::Name(name) => {
            assert!(name.parse::<IpAddr>().is_err(), "{raw:?}: the name {name} is an address");
            assert!(name != "localhost" && !name.ends_with(".localhost"), "{raw:?}");
            assert!(name.is_ascii() && !name.contains(char::is_uppercase), "{raw:?}");
        }
    }
    // What was normalized is normal: a second reading finds the same target.
    let again = check_url(url.as_str(), policy);
    assert_eq!(again.as_ref().ok(), Some(target), "{raw:?} then {url}");
}

/// The standard library's own idea of what is not public.
fn is_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            ip.is_private()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_unspecified()
                || ip.is_broadcast()
                || ip.is_multicast()
                || ip.is_documentation()
        }
        IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.to_ipv4_mapped().is_some()
        }
    }
}
