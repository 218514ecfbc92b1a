//! Programs that a learner's source has a part in. None takes more than it may of time and output,
//! nor does what it has started; and however one ends, it is told in words.

use std::fmt;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
#[cfg(unix)]
use rustix::process::Signal;

/// How often a program is asked whether it has ended.
const INTERVAL: Duration = Duration::from_millis(2);
/// How long to wait for the rest of the output of a program that has ended: a process that it has
/// started may hold it open for as long as it likes.
const LINGER: Duration = Duration::from_secs(2);

/// Cores that a program may keep busy for all of its time.
#[cfg(target_os = "linux")]
const MOST_CORES: u64 = 4;

/// What a program may take.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    /// Of each of its two outputs.
    pub(crate) output_bytes: usize,
    /// Address space of each process, where the system can limit it.
    pub(crate) memory_bytes: u64,
}

/// A program that has run.
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// How a program ended. Its text is a sentence without its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Code(i32),
    /// By a signal, or on Windows by an exception, which have numbers.
    Crash(i32),
    TooLong(Duration),
    TooMuch(usize),
}

/// Runs a program to its end, or ends it where it takes more than it may.
pub(crate) fn run(mut command: Command, input: &str, bounds: Bounds) -> Result<Ended> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    limit(&child, bounds);
    let (tell, told) = mpsc::sync_channel(1);
    forward(child.stdout.take(), 0, tell.clone());
    forward(child.stderr.take(), 1, tell);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        std::thread::spawn(move || stdin.write_all(input.as_bytes())); // it need not read it
    }
    let mut output = Output { told, texts: [vec![], vec![]], most: bounds.output_bytes };
    let start = Instant::now();
    let end = loop {
        output.take(INTERVAL);
        if output.is_too_much() {
            break End::TooMuch(bounds.output_bytes);
        }
        if let Some(status) = child.try_wait()? {
            break End::of(status);
        }
        if start.elapsed() > bounds.time {
            break End::TooLong(bounds.time);
        }
    };
    end_all(&mut child);
    child.wait()?;
    let last = Instant::now() + LINGER;
    while !output.is_too_much() && output.take(last.saturating_duration_since(Instant::now())) {}
    let end = if output.is_too_much() { End::TooMuch(bounds.output_bytes) } else { end };
    let [out, err] = output.texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended { end, out, err })
}

/// Limits what a process and those that it starts take, also should nobody be left to end them.
#[cfg(target_os = "linux")]
fn limit(child: &Child, bounds: Bounds) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    for (resource, most) in [
        (Resource::Cpu, MOST_CORES * bounds.time.as_secs().max(1)),
        (Resource::As, bounds.memory_bytes),
        (Resource::Fsize, bounds.memory_bytes),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Some(Pid::from_child(child)), resource, limit); // it may have ended
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_: &Child, bounds: Bounds) {
    let _ = bounds.memory_bytes;
}

/// Sends what comes out of a pipe, until nobody wants more.
fn forward(pipe: Option<impl Read + Send + 'static>, which: usize, tell: SyncSender<Piece>) {
    let Some(mut pipe) = pipe else { return };
    std::thread::spawn(move || {
        let mut piece = vec![0; 1 << 13];
        while let Ok(bytes @ 1..) = pipe.read(&mut piece)
            && tell.send((which, piece[..bytes].to_vec())).is_ok()
        {}
    });
}

/// Some of what a program has written, and to which of its outputs.
type Piece = (usize, Vec<u8>);

/// What a program has written.
struct Output {
    told: Receiver<Piece>,
    texts: [Vec<u8>; 2],
    most: usize,
}

impl Output {
    /// Takes what comes within `time`. False if nothing will come, or nothing did in all that time.
    fn take(&mut self, time: Duration) -> bool {
        match self.told.recv_timeout(time) {
            Ok((which, piece)) => self.texts[which].extend(piece),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(time.min(INTERVAL));
                return false;
            }
        }
        true
    }

    fn is_too_much(&self) -> bool {
        self.texts.iter().any(|text| text.len() > self.most)
    }
}

/// Ends a program, if it has not ended, and all that it has started.
fn end_all(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL); // there may be none left
    }
    let _ = child.kill(); // it may have ended
}

impl End {
    #[cfg(unix)]
    fn of(status: ExitStatus) -> End {
        use std::os::unix::process::ExitStatusExt;
        status.code().map_or(End::Crash(status.signal().unwrap_or(0)), End::Code)
    }

    #[cfg(windows)]
    fn of(status: ExitStatus) -> End {
        match status.code().unwrap_or(0) {
            code @ ..0 => End::Crash(code), // the codes of exceptions begin with 0xC
            code => End::Code(code),
        }
    }
}

/// What ends a program on its own account: its number, its name, and what that means.
#[cfg(unix)]
const CRASHES: [(Signal, &str, &str); 7] = [
    (Signal::ILL, "SIGILL", "an instruction that does not exist"),
    (Signal::ABORT, "SIGABRT", "it gave up"),
    (Signal::BUS, "SIGBUS", "it used memory that is not there"),
    (Signal::FPE, "SIGFPE", "a division of integers by 0"),
    (Signal::KILL, "SIGKILL", "it was killed, maybe because memory was short"),
    (Signal::SEGV, "SIGSEGV", "it used memory that is not its own"),
    (Signal::XFSZ, "SIGXFSZ", "it wrote a large file"),
];
#[cfg(windows)]
const CRASHES: [(i32, &str, &str); 4] = [
    (0xC000_0005_u32 as i32, "access violation", "it used memory that is not its own"),
    (0xC000_0094_u32 as i32, "0xC0000094", "a division of integers by 0"),
    (0xC000_00FD_u32 as i32, "stack overflow", "a function that calls itself without end"),
    (0xC000_0409_u32 as i32, "0xC0000409", "it gave up"),
];

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Code(code) => write!(f, "ended with exit code {code}"),
            End::Crash(number) => {
                #[cfg(unix)]
                let is_it = |known: &Signal| known.as_raw() == *number;
                #[cfg(windows)]
                let is_it = |known: &i32| known == number;
                match CRASHES.iter().find(|(known, ..)| is_it(known)) {
                    Some((_, name, means)) => write!(f, "crashed ({name}: {means})"),
                    None => write!(f, "crashed (number {number})"),
                }
            }
            End::TooLong(time) => write!(f, "does not end: stopped after {} s", time.as_secs()),
            End::TooMuch(bytes) => {
                write!(f, "prints without end: stopped after {} KiB", bytes >> 10)
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const BOUNDS: Bounds =
        Bounds { time: Duration::from_secs(5), output_bytes: 1 << 16, memory_bytes: 1 << 30 };

    fn shell(line: &str, bounds: Bounds) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        run(command, "input", bounds).expect("there is a shell")
    }

    #[test]
    fn a_program_ends_however_it_does() {
        let short = Bounds { time: Duration::from_millis(200), ..BOUNDS };
        for (line, bounds, end, said) in [
            ("cat; echo err >&2; exit 3", BOUNDS, End::Code(3), "ended with exit code 3"),
            ("kill -SEGV $$", BOUNDS, End::Crash(11), "crashed (SIGSEGV: it used memory"),
            ("sleep 60", short, End::TooLong(short.time), "does not end"),
            ("yes", BOUNDS, End::TooMuch(1 << 16), "prints without end: stopped after 64 KiB"),
        ] {
            let ended = shell(line, bounds);
            assert_eq!(ended.end, end, "{line}");
            assert!(ended.end.to_string().contains(said), "{}", ended.end);
        }
        let ended = shell("cat; echo err >&2", BOUNDS);
        assert_eq!((ended.out.as_str(), ended.err.as_str()), ("input", "err\n"));
    }

    #[test]
    fn what_a_program_has_started_is_not_waited_for() {
        for line in ["sleep 60 & echo hi", "setsid sleep 60 & echo hi"] {
            let start = Instant::now();
            let ended = shell(line, BOUNDS);
            assert_eq!((ended.end, ended.out.as_str()), (End::Code(0), "hi\n"), "{line}");
            assert!(start.elapsed() < Duration::from_secs(3), "{line}");
        }
    }
}
