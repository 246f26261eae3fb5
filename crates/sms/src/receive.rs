//! Reads the phone, and stores what is new.

use toolcrib_assistant::heartbeat::{Arrival, Arrivals, InboundKind};

use crate::account::SmsPhones;
use crate::error::SmsError;
use crate::gateway::{Gateway, ReceivedSms};
use crate::inbox::{MAX_STORED, OVERLAP, SmsInbox, StoredSms};

/// SMS of one request.
const PAGE: usize = 100;

/// Sets the position behind everything that the phone has now.
pub(crate) async fn begin(
    gateway: &Gateway,
    inbox: &SmsInbox,
    owner: &str,
) -> Result<(), SmsError> {
    let newest = gateway.inbox(None, 1, 0).await?.sms.first().map(|sms| sms.at);
    let mut existing = match newest {
        Some(newest) => found_since(gateway, newest - OVERLAP).await?,
        None => Vec::new(),
    };
    // What arrives during the requests is new.
    existing.retain(|sms| newest.is_some_and(|newest| sms.at <= newest));
    Ok(inbox.begin(owner, &existing).await?)
}

/// Stores what is new on the phone, and tells the heartbeat; returns the number of new SMS.
pub(crate) async fn receive(
    phones: &SmsPhones,
    inbox: &SmsInbox,
    arrivals: &Arrivals,
    owner: &str,
) -> Result<usize, SmsError> {
    let phone = phones.find()?.for_reading()?;
    let gateway = phones.open(&phone)?;
    let Some(newest) = inbox.newest(owner).await? else {
        // The person has edited the file, or the database is a new one.
        begin(&gateway, inbox, owner).await?;
        return Ok(0);
    };
    let found = found_since(&gateway, newest - OVERLAP).await?;
    let mut count = 0;
    loop {
        // The person may have switched reading off meanwhile.
        phones.find()?.for_reading()?;
        let new = inbox.accept(owner, &found).await?;
        if new.is_empty() {
            return Ok(count);
        }
        count += new.len();
        tell(arrivals, owner, &new).await?;
    }
}

/// Returns the SMS of the phone since a time, at most as many as are stored.
async fn found_since(gateway: &Gateway, since: i64) -> Result<Vec<ReceivedSms>, SmsError> {
    let mut found = Vec::new();
    while found.len() < MAX_STORED {
        let page = gateway.inbox(Some(since), PAGE, found.len()).await?;
        let is_last = !page.is_full || page.sms.is_empty();
        found.extend(page.sms);
        if is_last {
            break;
        }
    }
    Ok(found)
}

async fn tell(arrivals: &Arrivals, owner: &str, new: &[StoredSms]) -> Result<(), SmsError> {
    for sms in new {
        let arrival = Arrival::new(&format!("SMS from {}", sms.from), "", &sms.text);
        arrivals.add(owner, InboundKind::Message, arrival).await?;
    }
    Ok(())
}
