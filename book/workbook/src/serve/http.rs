//! The server: this machine's browsers may read the book, and nobody can make it hold
//! much memory or wait for long.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Shown, Site};

/// Connections at a time, each with a thread. Where one more comes, the oldest ends.
const CONNECTIONS: usize = 128;
/// The longest head of a request, in bytes. Bodies are not read.
const HEAD: usize = 16 << 10;
/// How long a request's head may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection may take, which is for one request.
const TIME: Duration = Duration::from_mins(1);
/// The pause after a connection could not be taken: files that are open may be too many.
const PAUSE: Duration = Duration::from_millis(100);

/// What a path that the book does not have gets, and mdBook's page for it.
const NOT_FOUND: &str = "404 Not Found";
const NOT_FOUND_PAGE: &str = "404.html";

/// Serves from threads of its own, as long as the program runs.
pub(super) fn start(listener: TcpListener, shown: Arc<Shown>) {
    thread::spawn(move || {
        let mut open: VecDeque<(Weak<TcpStream>, JoinHandle<_>)> = VecDeque::new();
        for stream in listener.incoming() {
            let Ok(stream) = stream.map(Arc::new) else {
                thread::sleep(PAUSE);
                continue;
            };
            open.retain(|(_, thread)| !thread.is_finished());
            if open.len() == CONNECTIONS
                && let Some((oldest, thread)) = open.pop_front()
            {
                // Its thread wakes, and finds that the connection has ended.
                if let Some(oldest) = oldest.upgrade() {
                    let _ = oldest.shutdown(Shutdown::Both);
                }
                let _ = thread.join();
            }
            let (own, shown) = (Arc::downgrade(&stream), shown.clone());
            // Without a thread for it, the connection ends here. That a browser has gone before
            // its answer is nobody's loss.
            if let Ok(thread) = thread::Builder::new().spawn(move || serve(&stream, &shown)) {
                open.push_back((own, thread));
            }
        }
    });
}

/// Answers one request.
fn serve(mut stream: &TcpStream, shown: &Shown) -> io::Result<()> {
    let start = Instant::now();
    let head = read_head(stream, start)?;
    let site = shown.site();
    let too_long = ("431 Request Header Fields Too Large", "more than 16 KiB");
    let answer = head.as_deref().ok_or(too_long).and_then(|head| answer(head, &site));
    let (status, kind, body) = match answer {
        Ok((kind, body)) => ("200 OK", kind, body),
        // With the list of pages, and the search.
        Err((status @ NOT_FOUND, _)) if site.files.contains_key(NOT_FOUND_PAGE) => {
            (status, content_type(NOT_FOUND_PAGE), site.files[NOT_FOUND_PAGE].as_slice().into())
        }
        Err((status, why)) => {
            let line = format!("{}: {why}\n", &status[..3]);
            (status, "text/plain; charset=utf-8", line.into_bytes().into())
        }
    };
    let lines = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\
         Allow: GET, HEAD\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let only_head = head.is_some_and(|head| head.starts_with("HEAD "));
    for mut part in [lines.as_bytes(), if only_head { &[] } else { &body }] {
        while !part.is_empty() {
            stream.set_write_timeout(Some(time_left(start, TIME)?))?;
            let written = stream.write(part)?;
            part = &part[written..];
        }
    }
    Ok(())
}

/// A request up to its empty line; none if that does not come in time to be kept.
fn read_head(mut stream: &TcpStream, start: Instant) -> io::Result<Option<String>> {
    let mut head = vec![0; HEAD];
    let mut length = 0;
    while length < HEAD {
        stream.set_read_timeout(Some(time_left(start, HEAD_TIME)?))?;
        let read = stream.read(&mut head[length..])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let new = length.saturating_sub(3); // the empty line's first bytes may be there
        length += read;
        if let Some(end) = head[new..length].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&head[..new + end]).into_owned()));
        }
    }
    Ok(None)
}

/// How much of its time is left to what began at `start`; an error if none is.
fn time_left(start: Instant, time: Duration) -> io::Result<Duration> {
    let left = time.saturating_sub(start.elapsed());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Why a request gets nothing of the site: a status, and words.
type Refused = (&'static str, &'static str);

/// What of the site a request is for: its type and its bytes.
fn answer<'s>(head: &str, site: &'s Site) -> Result<(&'static str, Cow<'s, [u8]>), Refused> {
    let mut lines = head.split("\r\n");
    let request: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.0" | "HTTP/1.1"] = request[..] else {
        return Err(("400 Bad Request", "not a request of HTTP/1"));
    };
    let headers: Vec<_> = lines.filter_map(|line| line.split_once(':')).collect();
    let all = |wanted: &'static str| {
        let found = headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    };
    if all("content-length").any(|length| length.parse::<u64>().is_err()) {
        return Err(("400 Bad Request", "its length is no number of bytes"));
    }
    let hosts: Vec<&str> = all("host").collect();
    if !matches!(hosts[..], [host] if is_local(host)) {
        // The page of another site can be given this machine's address as its own.
        let why = "open the book as localhost, 127.0.0.1 or [::1]; under another name, other \
                   sites could read it";
        return Err(("403 Forbidden", why));
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err(("405 Method Not Allowed", "only GET and HEAD"));
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    if path == "/build" {
        let state = json!({ "build": site.build, "error": site.error });
        return Ok(("application/json", state.to_string().into_bytes().into()));
    }
    let name = match path.trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let file = site.files.get(name).ok_or((NOT_FOUND, "not in the book"))?;
    Ok((content_type(name), file.into()))
}

/// Whether a request names this machine as only its own browsers do. The port may be
/// another one, which an SSH tunnel leads here.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

fn content_type(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
