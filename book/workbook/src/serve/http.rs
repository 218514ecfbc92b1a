//! The server: this machine's browsers may read the book, and nobody can make it hold
//! much memory or wait for long.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Shown, Site};

/// Connections at a time. Where one more comes, the oldest ends.
const CONNECTIONS: usize = 128;
/// The longest head of a request, in bytes. Bodies are not read.
const HEAD: usize = 16 << 10;
/// How long a request's head may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection may take, which is for one request.
const TIME: Duration = Duration::from_mins(1);
/// The pause after a connection could not be taken: files that are open may be too many.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves from a thread of its own, as long as the program runs.
pub(super) fn start(listener: TcpListener, shown: Arc<Shown>) -> Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _runtime = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    std::thread::spawn(move || runtime.block_on(serve(listener, shown)));
    Ok(())
}

async fn serve(listener: tokio::net::TcpListener, shown: Arc<Shown>) {
    let mut server = http1::Builder::new();
    server
        .keep_alive(false)
        .max_buf_size(HEAD)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME);
    let mut open = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let shown = shown.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            ready(Ok::<_, Infallible>(answer(&request, &shown.site())))
        });
        let connection = server.serve_connection(TokioIo::new(stream), service);
        open.retain(|task: &JoinHandle<_>| !task.is_finished());
        if open.len() == CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(timeout(TIME, connection)));
    }
}

fn answer(request: &Request<Incoming>, site: &Site) -> Response<Full<Bytes>> {
    let text = "text/plain; charset=utf-8";
    let (status, kind, body) = if !is_local(request.headers()) {
        // The page of another site can be given this machine's address as its own.
        let why = "403: open the book as localhost, 127.0.0.1 or [::1]; under another \
                   name, other sites could read it\n";
        (StatusCode::FORBIDDEN, text, why.into())
    } else if ![Method::GET, Method::HEAD].contains(request.method()) {
        (StatusCode::METHOD_NOT_ALLOWED, text, "405: only GET and HEAD\n".into())
    } else if request.uri().path() == "/build" {
        let state = json!({ "build": site.build, "error": site.error });
        (StatusCode::OK, "application/json", state.to_string().into())
    } else {
        let name = match request.uri().path().trim_start_matches('/') {
            "" => "index.html",
            name => name,
        };
        match site.files.get(name) {
            Some(file) => (StatusCode::OK, content_type(name), file.clone()),
            None => (StatusCode::NOT_FOUND, text, "404: not in the book\n".into()),
        }
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::ALLOW, "GET, HEAD"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether the request names this machine as only its own browsers do. The port may be
/// another one, which an SSH tunnel leads here.
fn is_local(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let host = host.to_str().unwrap_or_default();
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
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
