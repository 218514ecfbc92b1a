//! The text of a ledger, a record a line:
//!
//! | line | what it says |
//! |---|---|
//! | `call COUNT NAME` | how often a function of the API was called |
//! | `operation NUMBER STREAM GPU BYTES AFTER KIND` | a piece of queued work |
//! | `read ADDRESS BYTES OFFSET NAME` | memory that the operation above has read |
//! | `write ADDRESS BYTES OFFSET NAME` | the same of memory that it has written |
//! | `waited NUMBER` | the host knows that this operation is done |
//! | `managed ADDRESS BYTES` | the program has this managed memory from here on |
//!
//! Operations come in the order in which they were queued, numbered from 1 on. `AFTER` lists
//! what the operation directly comes after, `3,5`, or is `-`: the one before it in its stream,
//! the events that were waited for, what the rule of the legacy default stream says, and of a
//! pool's memory what freed it. A `waited` between two operations is what the host waited for,
//! by a synchronisation, a query that succeeded, a copy that blocks or a free, before it
//! queued the second. (The host is one here, however many threads it has.)
//!
//! `KIND` is `upload`, `download`, `copy` (on a GPU), `peer FROM TO` (between GPUs),
//! `host-copy`, `prefetch PLACE ADDRESS` (a GPU, or `host`), `fill`, `kernel NAME`,
//! `host-function`, `allocate`, `free` (both in the order of streams), `record`, `wait`, or
//! `mark`.

use std::fmt;
use std::str::FromStr;

use crate::{Kind, Ledger, Managed, Operation, Range, Wait};

/// A line that is none of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the ledger, {text:?}: {mistake}")]
pub struct Error {
    /// Number of the line, from 1 on.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is wrong with it.
    pub mistake: Mistake,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// An unknown first word.
    #[error("no record begins so")]
    Record,
    /// A word is missing, or is no number.
    #[error("a word is missing, or is no number")]
    Word,
    /// No operation is of this kind.
    #[error("there is no such kind of operation")]
    Kind,
    /// Operations are not numbered from 1 on, or come after one that is not above.
    #[error("it names an operation that is not above")]
    Number,
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.calls {
            writeln!(f, "call {count} {name}")?;
        }
        let mut managed = self.managed.iter().peekable();
        let mut waits = self.waits.iter().peekable();
        for queued in 0..=self.operations.len() {
            while let Some(wait) = waits.next_if(|wait| wait.queued == queued) {
                writeln!(f, "waited {}", wait.operation)?;
            }
            while let Some(memory) = managed.next_if(|memory| memory.queued == queued) {
                writeln!(f, "managed {} {}", memory.address, memory.bytes)?;
            }
            if let Some(operation) = self.operations.get(queued) {
                write_operation(f, operation)?;
            }
        }
        Ok(())
    }
}

fn write_operation(f: &mut fmt::Formatter<'_>, operation: &Operation) -> fmt::Result {
    let Operation { number, stream, gpu, bytes, kind, read, written, .. } = operation;
    let after = match &operation.after[..] {
        [] => "-".to_owned(),
        some => some.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    };
    write!(f, "operation {number} {stream} {gpu} {bytes} {after} ")?;
    match kind {
        Kind::Upload => writeln!(f, "upload"),
        Kind::Download => writeln!(f, "download"),
        Kind::Copy => writeln!(f, "copy"),
        Kind::PeerCopy { from, to } => writeln!(f, "peer {from} {to}"),
        Kind::HostCopy => writeln!(f, "host-copy"),
        Kind::Prefetch { to: Some(gpu), address } => writeln!(f, "prefetch {gpu} {address}"),
        Kind::Prefetch { to: None, address } => writeln!(f, "prefetch host {address}"),
        Kind::Fill => writeln!(f, "fill"),
        Kind::Kernel(name) => writeln!(f, "kernel {name}"),
        Kind::HostFunction => writeln!(f, "host-function"),
        Kind::Allocate => writeln!(f, "allocate"),
        Kind::Free => writeln!(f, "free"),
        Kind::Record => writeln!(f, "record"),
        Kind::Wait => writeln!(f, "wait"),
        Kind::Mark => writeln!(f, "mark"),
    }?;
    for (verb, ranges) in [("read", read), ("write", written)] {
        for Range { address, bytes, name, offset } in ranges {
            writeln!(f, "{verb} {address} {bytes} {offset} {name}")?;
        }
    }
    Ok(())
}

impl FromStr for Ledger {
    type Err = Error;

    fn from_str(text: &str) -> Result<Ledger, Error> {
        let mut ledger = Ledger::default();
        for (number, line) in text.lines().enumerate() {
            ledger.read(line).map_err(|mistake| {
                let (line, text) = (number + 1, line.to_owned());
                Error { line, text, mistake }
            })?;
        }
        for operation in &mut ledger.operations {
            operation.read.sort_by_key(|range| range.address);
            operation.written.sort_by_key(|range| range.address);
        }
        Ok(ledger)
    }
}

impl Ledger {
    fn read(&mut self, line: &str) -> Result<(), Mistake> {
        let (record, mut rest) = line.split_once(' ').ok_or(Mistake::Record)?;
        let queued = self.operations.len();
        let known = |number: usize| {
            let known = (1..=queued).contains(&number);
            known.then_some(number).ok_or(Mistake::Number)
        };
        match record {
            "call" => {
                let count = number(&mut rest)?;
                self.calls.insert(rest.to_owned(), count);
            }
            "operation" => {
                let operation = Operation {
                    number: number(&mut rest)?,
                    stream: number(&mut rest)?,
                    gpu: number(&mut rest)?,
                    bytes: number(&mut rest)?,
                    after: list(&mut rest)?,
                    kind: kind(rest)?,
                    read: vec![],
                    written: vec![],
                };
                if operation.number != queued + 1 {
                    return Err(Mistake::Number);
                }
                for before in &operation.after {
                    known(*before)?;
                }
                self.operations.push(operation);
            }
            "read" | "write" => {
                let address = number(&mut rest)?;
                let bytes = number(&mut rest)?;
                let offset = number(&mut rest)?;
                let range = Range { address, bytes, offset, name: rest.to_owned() };
                let last = self.operations.last_mut().ok_or(Mistake::Number)?;
                match record {
                    "read" => last.read.push(range),
                    _ => last.written.push(range),
                }
            }
            "waited" => {
                let operation = known(number(&mut rest)?)?;
                self.waits.push(Wait { queued, operation });
            }
            "managed" => {
                let address = number(&mut rest)?;
                let bytes = number(&mut rest)?;
                self.managed.push(Managed { queued, address, bytes });
            }
            _ => return Err(Mistake::Record),
        }
        Ok(())
    }
}

/// Takes the first word off.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    *rest = after;
    word
}

fn number<T: FromStr>(rest: &mut &str) -> Result<T, Mistake> {
    word(rest).parse().map_err(|_| Mistake::Word)
}

fn list(rest: &mut &str) -> Result<Vec<usize>, Mistake> {
    match word(rest) {
        "-" => Ok(vec![]),
        list => list.split(',').map(|number| number.parse().map_err(|_| Mistake::Word)).collect(),
    }
}

fn kind(mut rest: &str) -> Result<Kind, Mistake> {
    Ok(match word(&mut rest) {
        "upload" => Kind::Upload,
        "download" => Kind::Download,
        "copy" => Kind::Copy,
        "peer" => Kind::PeerCopy { from: number(&mut rest)?, to: number(&mut rest)? },
        "host-copy" => Kind::HostCopy,
        "prefetch" => {
            let to = match word(&mut rest) {
                "host" => None,
                gpu => Some(gpu.parse().map_err(|_| Mistake::Word)?),
            };
            Kind::Prefetch { to, address: number(&mut rest)? }
        }
        "fill" => Kind::Fill,
        "kernel" => Kind::Kernel(rest.to_owned()),
        "host-function" => Kind::HostFunction,
        "allocate" => Kind::Allocate,
        "free" => Kind::Free,
        "record" => Kind::Record,
        "wait" => Kind::Wait,
        "mark" => Kind::Mark,
        _ => return Err(Mistake::Kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_read() {
        let text = "\
call 3 cuMemAlloc_v2
operation 1 1 0 4096 - peer 1 0
write 2000 16 0 half 0
write 1000 16 8 buffer 3 (4 MiB)
waited 1
operation 2 0 1 0 1 kernel scale
waited 2
";
        let ledger: Ledger = text.parse().unwrap();
        assert_eq!(ledger.calls["cuMemAlloc_v2"], 3);
        let [copy, kernel] = &ledger.operations[..] else { panic!("two") };
        assert_eq!(copy.kind, Kind::PeerCopy { from: 1, to: 0 });
        assert_eq!((copy.stream, copy.gpu, copy.bytes), (1, 0, 4096));
        let name = "buffer 3 (4 MiB)".to_owned();
        let first = Range { address: 1000, bytes: 16, offset: 8, name };
        assert_eq!(copy.written[0], first, "in the order of addresses");
        assert_eq!(copy.touched_bytes(), 32);
        assert_eq!(kernel.after, [1]);
        assert_eq!(kernel.to_string(), "kernel `scale` (2, the default stream)");
        let wait = |queued, operation| Wait { queued, operation };
        assert_eq!(ledger.waits, [wait(1, 1), wait(2, 2)]);
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        let text = "\
call 3 cuMemAlloc_v2
managed 65536 131072
operation 1 1 0 16 - upload
write 1000 8 0 half 0
write 1008 8 0 buffer 3 (4 MiB)
operation 2 1 0 16 1 download
read 1000 16 0 half 0
operation 3 2 1 16 - copy
operation 4 2 1 16 3 peer 1 0
operation 5 0 0 16 2,4 host-copy
waited 2
waited 4
managed 1048576 1
operation 6 1 0 65536 - prefetch 0 65536
operation 7 1 0 65536 6 prefetch host 65536
operation 8 1 0 16 7 fill
operation 9 1 0 0 8 kernel scale
operation 10 1 0 0 9 host-function
operation 11 1 0 512 10 allocate
operation 12 1 0 512 11 free
operation 13 1 0 0 12 record
operation 14 2 0 0 4,13 wait
operation 15 2 0 0 14 mark
waited 15
";
        let ledger: Ledger = text.parse().unwrap();
        assert_eq!(ledger.to_string(), text);
        assert_eq!(ledger.to_string().parse(), Ok(ledger));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let mistake = |line: &str| {
            let text = format!("operation 1 1 0 0 - fill\n{line}\n");
            let error = text.parse::<Ledger>().unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (2, line));
            error.mistake
        };
        assert_eq!(mistake("sync 1"), Mistake::Record);
        assert_eq!(mistake("waited"), Mistake::Record);
        assert_eq!(mistake("call many cuInit"), Mistake::Word);
        assert_eq!(mistake("operation 2 1 0 0 1,x fill"), Mistake::Word);
        assert_eq!(mistake("operation 2 1 0 0 1 jump"), Mistake::Kind);
        assert_eq!(mistake("operation 2 1 0 0 2 fill"), Mistake::Number);
        assert_eq!(mistake("operation 3 1 0 0 1 fill"), Mistake::Number);
        assert_eq!(mistake("waited 2"), Mistake::Number);
        let error = "read 1 1 0 x".parse::<Ledger>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1 of the ledger, \"read 1 1 0 x\": it names an operation that is not above"
        );
    }
}
