//! `cargo workbook serve` in the background, and a client that sends what it is told: a
//! browser would tidy up the paths that these tests are about.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::checkout::Checkout;

/// Long after this, what a test waits for will not come any more.
const PATIENCE: Duration = Duration::from_mins(5);
/// File in the checkout that the server's words go to.
const LOG: &str = "serve.log";

/// A running server; it ends with this value.
pub(crate) struct Server<'c> {
    checkout: &'c Checkout,
    process: Child,
    port: u16,
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

impl<'c> Server<'c> {
    /// Starts the server on a free port and waits until it serves.
    pub(crate) fn start(checkout: &'c Checkout) -> Server<'c> {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let log = File::create(checkout.path(LOG)).expect("the copy can be written");
        let process = checkout
            .command(&format!("serve --port {port}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file can be opened twice"))
            .stderr(log)
            .spawn()
            .expect("the program can be started");
        let mut server = Server { checkout, process, port };
        server.wait_until_it_says(&format!("http://127.0.0.1:{port}"));
        server
    }

    /// What it said so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.checkout.path(LOG)).expect("the log is there")
    }

    /// Waits until `text` is among what it said.
    #[track_caller]
    pub(crate) fn wait_until_it_says(&mut self, text: &str) {
        let start = Instant::now();
        while !self.said().contains(text) {
            let ended = self.process.try_wait().expect("it is our child");
            let said = self.said();
            assert!(ended.is_none(), "serve ended ({ended:?}):\n{said}");
            assert!(start.elapsed() < PATIENCE, "no {text:?} from serve:\n{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until pages of the build number `since` are told to load again.
    #[track_caller]
    pub(crate) fn wait_until_changed(&self, since: usize) {
        let start = Instant::now();
        while self.get(&format!("/changed?since={since}")).body != "yes" {
            let said = self.said();
            assert!(start.elapsed() < PATIENCE, "no build after {since}:\n{said}");
        }
    }

    /// Asks for `path`, exactly as it stands there.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("the time is not zero");
        // HTTP/1.0: the answer comes in one piece and ends with the connection.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            .expect("it reads");
        let mut answer = vec![];
        stream.read_to_end(&mut answer).unwrap_or_else(|e| panic!("{path}: {e}"));
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{path}: no HTTP: {answer:?}"));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let content_type = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-type").then(|| value.to_owned())
        });
        Answer {
            status: status.unwrap_or_else(|| panic!("{path}: no status: {head:?}")),
            content_type: content_type.unwrap_or_default(),
            body: body.to_owned(),
        }
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has said by now.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
