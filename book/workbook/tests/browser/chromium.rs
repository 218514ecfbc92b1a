//! One headless Chromium for all tests, driven over the DevTools protocol.
//!
//! The protocol runs over a pair of pipes (`--remote-debugging-pipe`): no port is
//! opened, and Chromium ends by itself when the test process does, however it ends.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::skip::skip;

/// Long after this, what a test waits for will not come any more.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);
/// Chromium reads commands from descriptor 3 and answers on 4. The shell moves our
/// pipes there, and removes the profile once Chromium has ended.
const LAUNCH: &str =
    r#"profile=$1; shift; "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "$profile""#;

/// What a Chromium is called. The first is one without windows: a tab takes a third of the time.
const EXECUTABLES: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A running Chromium.
pub(crate) struct Browser {
    commands: Mutex<ChildStdin>,
    next_id: AtomicU64,
    mailboxes: Arc<Mutex<Mailboxes>>,
}

/// Who waits for what: answers by command, events by session.
#[derive(Default)]
struct Mailboxes {
    answers: HashMap<u64, Sender<Value>>,
    events: HashMap<String, Sender<Value>>,
}

impl Browser {
    /// The browser, started on first use. `None` where there is no Chromium:
    /// the test is skipped then.
    pub(crate) fn get() -> Option<&'static Self> {
        static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
        let browser = BROWSER.get_or_init(|| Some(Self::launch(&executable()?)));
        if browser.is_none() {
            skip("no Chromium was found; install one or set CHROMIUM to its path");
        }
        browser.as_ref()
    }

    fn launch(executable: &Path) -> Self {
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("browser-profile-{}", std::process::id()));
        fs::create_dir_all(&profile).expect("the profile's folder can be made");
        let mut shell = Command::new("sh")
            .args(["-c", LAUNCH, "sh"])
            .arg(&profile)
            .arg(executable)
            .arg(format!("--user-data-dir={}", profile.display()))
            .args([
                "--remote-debugging-pipe",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts Chromium");
        let commands = shell.stdin.take().expect("stdin is piped");
        let messages = shell.stdout.take().expect("stdout is piped");
        let mailboxes = Arc::new(Mutex::new(Mailboxes::default()));
        let delivered_to = Arc::clone(&mailboxes);
        thread::spawn(move || {
            deliver(messages, &delivered_to);
            // It has ended; how is of no interest.
            let _ = shell.wait();
        });
        Self { commands: Mutex::new(commands), next_id: AtomicU64::new(1), mailboxes }
    }

    /// Sends a command, to the browser itself or to one page's session, and waits for
    /// its result.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        lock(&self.mailboxes).answers.insert(id, sender);
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut message = command.to_string().into_bytes();
        message.push(0);
        lock(&self.commands)
            .write_all(&message)
            .unwrap_or_else(|error| panic!("{method}: Chromium has ended: {error}"));
        let mut answer = receiver
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{method}: no answer: {error}"));
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }

    /// The events of one session from now on.
    pub(crate) fn events_of(&self, session: &str) -> Receiver<Value> {
        let (sender, receiver) = mpsc::channel();
        lock(&self.mailboxes).events.insert(session.to_owned(), sender);
        receiver
    }
}

/// The Chromium to use: `CHROMIUM`, or the first of its usual names on the PATH.
fn executable() -> Option<PathBuf> {
    if let Some(chosen) = env::var_os("CHROMIUM") {
        return Some(chosen.into());
    }
    let folders = env::var_os("PATH")?;
    EXECUTABLES
        .iter()
        .flat_map(|name| env::split_paths(&folders).map(move |path| path.join(name)))
        .find(|path| path.is_file())
}

/// Sorts Chromium's messages, each ended by a zero byte, into the mailboxes until it
/// ends; then whoever still waits is told by a closed channel.
fn deliver(messages: ChildStdout, mailboxes: &Mutex<Mailboxes>) {
    let mut messages = BufReader::new(messages);
    let mut message = Vec::new();
    while messages.read_until(0, &mut message).is_ok_and(|length| length > 0) {
        message.pop();
        let parsed: Value = serde_json::from_slice(&message).expect("Chromium sends JSON");
        message.clear();
        let mut mailboxes = lock(mailboxes);
        let recipient = match (parsed["id"].as_u64(), parsed["sessionId"].as_str()) {
            (Some(id), _) => mailboxes.answers.remove(&id),
            (None, Some(session)) => mailboxes.events.get(session).cloned(),
            (None, None) => None,
        };
        if let Some(recipient) = recipient {
            // A test that has failed meanwhile no longer listens.
            let _ = recipient.send(parsed);
        }
    }
    *lock(mailboxes) = Mailboxes::default();
}

/// A failed test must not fail the others by way of a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
