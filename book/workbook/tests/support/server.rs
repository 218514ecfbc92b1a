//! `cargo workbook serve` in the background, and a client that sends what it is told: a
//! browser would tidy up the paths that these tests are about.

use std::borrow::Borrow;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::checkout::Checkout;

/// Long after this, what a test waits for will not come any more.
const PATIENCE: Duration = Duration::from_mins(5);
/// File in the checkout that the server's words go to.
const LOG: &str = "serve.log";

/// A running server of a checkout, which may be its own; it ends with this value.
pub(crate) struct Server<C> {
    checkout: C,
    process: Child,
    port: u16,
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header; empty without it.
    pub(crate) fn header(&self, wanted: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map_or("", |(_, value)| value)
    }
}

impl<C: Borrow<Checkout>> Server<C> {
    /// Starts the server on a free port and waits until it serves.
    pub(crate) fn start(checkout: C) -> Server<C> {
        let log = File::create(checkout.borrow().path(LOG)).expect("the copy can be written");
        let process = checkout
            .borrow()
            .command("serve --port 0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file can be opened twice"))
            .stderr(log)
            .spawn()
            .expect("the program can be started");
        let mut server = Server { checkout, process, port: 0 };
        server.wait_until_it_says("(Ctrl-C ends)");
        let said = server.said();
        let (_, address) = said.split_once("http://127.0.0.1:").expect("it says where");
        let port = address.split(' ').next().and_then(|port| port.parse().ok());
        server.port = port.expect("its address has a port");
        server
    }

    pub(crate) fn checkout(&self) -> &Checkout {
        self.checkout.borrow()
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.checkout().path(LOG)).expect("the log is there")
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

    /// Which build the server shows, and the error of a later one if there is one: what
    /// pages ask.
    #[track_caller]
    pub(crate) fn state(&self) -> (u64, Option<String>) {
        let state: Value =
            serde_json::from_str(&self.get("/build").body).expect("the state is JSON");
        let build = state["build"].as_u64().expect("builds have numbers");
        (build, state["error"].as_str().map(str::to_owned))
    }

    /// Waits until the server shows another build than `last`, and returns which.
    #[track_caller]
    pub(crate) fn wait_for_build_after(&self, last: u64) -> u64 {
        let start = Instant::now();
        loop {
            let (build, error) = self.state();
            if build != last {
                assert_eq!(error, None);
                return build;
            }
            let said = self.said();
            assert!(start.elapsed() < PATIENCE, "no build after {last}:\n{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks for `path`, exactly as it stands there.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"))
    }

    /// Sends this request, and reads the answer to its end.
    #[track_caller]
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it reads");
        answer(stream).unwrap_or_else(|| panic!("no answer to {request}"))
    }

    /// A connection that waits for answers for as long as tests do.
    #[track_caller]
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("the time is not zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("the time is not zero");
        stream
    }

    /// A number that Linux has about the process: `Threads`, `VmHWM` (in KiB).
    pub(crate) fn resource(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it is running");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|line| line.split_whitespace().nth(1));
        value.and_then(|value| value.parse().ok()).expect("Linux says it")
    }

    /// How many files and connections the process has open, on Linux.
    pub(crate) fn open_files(&self) -> usize {
        let files = fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        files.expect("it is running").count()
    }

    /// Presses Ctrl-C, waits for the end and returns the exit code.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args(["-INT", &process]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        self.process.wait().expect("it is our child").code()
    }
}

/// What the server answers on this connection before it ends it, if anything.
pub(crate) fn answer(mut stream: TcpStream) -> Option<Answer> {
    let mut answer = vec![];
    // Who sends more than is read is cut off, after the answer.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok())?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

impl<C> Drop for Server<C> {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has said by now.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
