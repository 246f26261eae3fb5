//! One proxy connection: reads the request head, checks the target, then copies bytes in both
//! directions.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolcrib_net::{CONNECT_TIMEOUT, Target, check_url, resolve_checked};

use super::request_head::{self, BadRequest, ProxyRequest};
use super::{EgressFilter, RefusedHost};

/// Timeout for receiving a request head.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// An error response to the client.
struct Answer {
    status: u16,
    text: String,
}

impl From<BadRequest> for Answer {
    fn from(BadRequest(status, text): BadRequest) -> Self {
        Self { status, text: text.to_owned() }
    }
}

/// Serves one connection to its end. Errors are reported to the client if it is still connected.
pub(super) async fn proxy_connection(mut stream: TcpStream, gate: &EgressFilter) {
    let Ok(Ok((head, rest))) = timeout(HEAD_TIME, read_head(&mut stream)).await else { return };
    let done = match request_head::parse(&head) {
        Err(bad) => Err(bad.into()),
        Ok(ProxyRequest::Connect(authority)) => tunnel(&mut stream, authority, &rest, gate).await,
        Ok(ProxyRequest::Request { method, url, fields, body }) => {
            match check_target(url, gate).await {
                Err(answer) => Err(answer),
                Ok((target, upstream)) => {
                    let head = rewrite(method, &target, &fields);
                    let _ = exchange(&mut stream, upstream, &head, &rest, body).await;
                    Ok(())
                }
            }
        }
    };
    if let Err(answer) = done {
        let _ = write_answer(&mut stream, &answer).await;
    }
}

/// Reads the head; also returns the bytes received after it.
async fn read_head(stream: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if let Some(end) = request_head::end_of(&bytes) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > request_head::LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn tunnel(
    stream: &mut TcpStream,
    authority: &str,
    rest: &[u8],
    gate: &EgressFilter,
) -> Result<(), Answer> {
    let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    });
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if !has_port || !authority.chars().all(plain) {
        return Err(BadRequest(400, "CONNECT takes host:port.").into());
    }
    let (_, mut upstream) = check_target(&format!("https://{authority}/"), gate).await?;
    let opened = async {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        upstream.write_all(rest).await?;
        copy_bidirectional(stream, &mut upstream).await
    };
    // Either side may disconnect at any time.
    let _ = opened.await;
    Ok(())
}

/// Connects to the target, if it is allowed.
async fn check_target(url: &str, gate: &EgressFilter) -> Result<(Target, TcpStream), Answer> {
    let refuse = |host: String, rule: &str, why: String| {
        gate.refuse(RefusedHost { host, rule: rule.to_owned() });
        Answer { status: 403, text: format!("The network rules of this sandbox refuse it: {why}.") }
    };
    let addresses = &gate.egress.addresses;
    let target = check_url(url, addresses)
        .map_err(|denied| refuse(denied.subject.clone(), denied.rule.id(), denied.to_string()))?;
    let authority = target.authority();
    if !gate.hosts.allows(target.host(), target.port()) {
        let why = format!("{authority} is not among the hosts that it may reach");
        return Err(refuse(authority, "host.not_listed", why));
    }
    let looking = resolve_checked(&target, &*gate.egress.resolver, addresses);
    let late = |_| Answer { status: 504, text: format!("{authority} did not answer in time.") };
    let checked = timeout(CONNECT_TIMEOUT, looking).await.map_err(late)?;
    let checked = checked
        .map_err(|denied| refuse(authority.clone(), denied.rule.id(), denied.to_string()))?;
    let connecting = TcpStream::connect(checked.addresses.as_slice());
    let gone = |error: io::Error| Answer {
        status: 502,
        text: format!("{authority} cannot be reached: {error}."),
    };
    let upstream = timeout(CONNECT_TIMEOUT, connecting).await.map_err(late)?.map_err(gone)?;
    let _ = upstream.set_nodelay(true);
    Ok((target, upstream))
}

/// Rebuilds the request head for the host from checked values.
fn rewrite(method: &str, target: &Target, fields: &[(&str, &str)]) -> String {
    let url = target.url();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let host =
        target.origin().split_once("://").map(|(_, host)| host.to_owned()).unwrap_or_default();
    let mut head = format!("{method} {}{query} HTTP/1.1\r\nHost: {host}\r\n", url.path());
    for (name, value) in fields {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head += "Connection: close\r\n\r\n";
    head
}

/// Forwards one request with a body of the declared length, and its complete response.
async fn exchange(
    stream: &mut TcpStream,
    mut upstream: TcpStream,
    head: &str,
    rest: &[u8],
    body: u64,
) -> io::Result<()> {
    upstream.write_all(head.as_bytes()).await?;
    let (mut from, mut to) = stream.split();
    let (mut answer, mut request) = upstream.split();
    let sending = async {
        let given = rest.len().min(usize::try_from(body).unwrap_or(usize::MAX));
        request.write_all(rest.get(..given).unwrap_or_default()).await?;
        copy(&mut (&mut from).take(body - given as u64), &mut request).await
    };
    let receiving = async {
        copy(&mut answer, &mut to).await?;
        to.shutdown().await
    };
    tokio::pin!(receiving);
    tokio::select! {
        // A host may respond before it has read the whole request.
        done = &mut receiving => done,
        sent = sending => {
            sent?;
            receiving.await
        }
    }
}

async fn write_answer(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { status, text } = answer;
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        411 => "Length Required",
        502 => "Bad Gateway",
        _ => "Gateway Timeout",
    };
    let length = text.len() + 1;
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{text}\n").as_bytes()).await?;
    stream.shutdown().await
}
