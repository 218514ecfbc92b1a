//! Every function of the driver, called over and over with random arguments: null, wild
//! numbers, handles and addresses that are alive, were freed, or are of another kind, and
//! sizes beyond everything. It answers with an error code; it never panics or crashes.
//!
//! Which functions there are and what they take is read from the driver's source, so a new
//! one is called without further ado.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::path::Path;
use std::process::Command;

use common::{PTX, alone, context};
use cudarc::driver::sys;

const CALLS: usize = 100_000;
/// After so many calls the GPU is made usable again, whatever they did to it.
const SEQUENCE: usize = 200;
/// Bytes of each piece of memory that pointers may lead to: more than any good size asks for.
const ROOM: usize = 1 << 16;

const NOT_SUPPORTED: c_int = 801;
const UNKNOWN: c_int = 999;

/// A function takes at most so many arguments.
const MOST: usize = 11;
/// Numbers and pointers are passed alike on the platforms of CUDA, and who gets too many
/// leaves the rest alone.
type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

/// What an argument is, by its name and type in the source.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Out,
    In,
    Text,
    /// An address on the host, which nobody can check.
    Host,
    Address,
    /// How many things there are at an `In`, which nobody can check.
    Count,
    /// Bytes of memory on the host.
    Bytes,
    Word,
    Number,
    Callback,
}

/// Name and arguments of every function in `src/api`.
fn functions() -> Vec<(String, Vec<Kind>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut functions = vec![];
    for file in files {
        let source = std::fs::read_to_string(file).unwrap();
        for declaration in source.split("fn cu").skip(1) {
            let (name, rest) = declaration.split_once('(').unwrap();
            let ends = [") {", ") ->"].map(|end| rest.find(end));
            let end = ends.into_iter().flatten().min().unwrap();
            let rest = &rest[..end];
            let has_list = rest.contains("In<");
            let arguments = rest.split(',').map(str::trim).filter_map(|argument| {
                let (argument, kind) = argument.split_once(": ")?;
                Some(self::kind(name, argument, kind, has_list))
            });
            functions.push((format!("cu{name}"), arguments.collect()));
        }
        for names in source.split("missing! {").skip(1) {
            let names = names.split('}').next().unwrap().split_whitespace();
            functions.extend(names.map(|name| (name.to_owned(), vec![])));
        }
    }
    functions
}

fn kind(function: &str, argument: &str, kind: &str, has_list: bool) -> Kind {
    // Both may be the host's, and then nothing says how much may be copied.
    let any = matches!(function, "Memcpy" | "MemcpyAsync");
    let host = any
        || function.contains("HtoD") && argument == "from"
        || function.contains("DtoH") && argument == "to"
        || function.contains("HostRegister");
    match kind {
        _ if kind.starts_with("Out<") || kind == "*mut c_void" || kind == "Room" => Kind::Out,
        _ if kind.starts_with("In<") || kind == "*const c_void" => Kind::In,
        _ if kind.starts_with("Option<") => Kind::Callback,
        "Text" => Kind::Text,
        _ if host && (argument == "to" || argument == "from" || argument == "address") => {
            Kind::Host
        }
        _ if any && argument == "bytes" => Kind::Count,
        _ if (host || function.contains("Alloc")) && argument == "bytes" => Kind::Bytes,
        _ if has_list && argument.ends_with("count") => Kind::Count,
        "u64" => Kind::Address,
        "usize" | "Location" | "c_ulonglong" => Kind::Word,
        "c_int" | "c_uint" | "u8" | "u16" | "u32" => Kind::Number,
        other => panic!("cu{function}: {argument} is {other}: what shall it get?"),
    }
}

/// Pseudo-random numbers, always the same ones.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Where pointers lead.
struct Places {
    out: Box<[u64]>,
    zeros: Box<[u64]>,
    /// Pointers to zeros: what a launch takes.
    pointers: Box<[u64]>,
    host: [Box<[u64]>; 2],
    texts: [std::ffi::CString; 4],
    /// What calls have answered: handles and addresses, some of them freed since.
    answers: Vec<usize>,
}

impl Places {
    fn new() -> Places {
        let zeros = vec![0u64; ROOM / 8].into_boxed_slice();
        let pointers = vec![zeros.as_ptr() as u64; ROOM / 8].into_boxed_slice();
        Places {
            out: zeros.clone(),
            pointers,
            host: [zeros.clone(), zeros.clone()],
            zeros,
            texts: ["", "add", PTX, ".version"].map(|t| std::ffi::CString::new(t).unwrap()),
            answers: vec![],
        }
    }

    fn argument(&mut self, kind: Kind, random: &mut Random) -> usize {
        // Mostly an aligned pointer, so that calls get far.
        let pointer = |place: usize, random: &mut Random| {
            random.of(&[place, place, place, place + 8, place + 1, 0])
        };
        match kind {
            Kind::Out => pointer(self.out.as_ptr() as usize + 64 * random.below(8), random),
            Kind::In => {
                let places = [self.zeros.as_ptr() as usize, self.pointers.as_ptr() as usize];
                pointer(random.of(&places[..]), random)
            }
            Kind::Text => match random.below(5) {
                4 => 0,
                which => self.texts[which].as_ptr() as usize,
            },
            Kind::Host => {
                let which = random.below(2);
                pointer(self.host[which].as_ptr() as usize, random)
            }
            Kind::Callback => random.of(&[0, nothing as *const () as usize]),
            Kind::Count => random.below(64),
            Kind::Bytes => {
                let sizes = [0, 1, 7, 64, 4096, ROOM / 2, usize::MAX, isize::MAX as usize];
                random.of(&sizes[..])
            }
            Kind::Number => {
                let sizes = [0, 1, 2, 3, 9, 33, usize::MAX, 1 << 31];
                random.of(&sizes[..])
            }
            Kind::Address | Kind::Word => match random.below(8) {
                0 => 0,
                1 => random.below(10),
                2 => random.of(&[usize::MAX, isize::MAX as usize, 1 << 62]),
                // A handle, perhaps, or an address of a GPU.
                3 => (0xe0 + random.below(12)) << 40 | random.below(20) << 4,
                4 => {
                    let of_a_gpu = 0x1000_0000_0000 + (random.below(4) << 40);
                    let near = of_a_gpu - 9000 + random.below(18_000);
                    random.of(&[near, near, near, 0x1f00_0000_0000, 0x1fff_ffff_ffff])
                }
                _ if self.answers.is_empty() => 1,
                _ => {
                    let answer = random.of(&self.answers[..]);
                    answer.wrapping_add(random.of(&[0, 0, 0, 4, 4096]))
                }
            },
        }
    }

    /// Keeps what a call has answered.
    fn keep(&mut self, random: &mut Random) {
        let answers = self.out.iter_mut().map(std::mem::take).filter(|word| *word != 0);
        for answer in answers {
            if self.answers.len() < 64 {
                self.answers.push(answer as usize);
            } else {
                self.answers[random.below(64)] = answer as usize;
            }
        }
    }
}

extern "C" fn nothing(_: usize) -> usize {
    0
}

#[test]
#[ignore = "runs in a process of its own: see below"]
fn calls() {
    let devices = 2;
    let primary = context(0);
    let functions = functions().into_iter().map(|(name, kinds)| {
        assert!(kinds.len() <= MOST, "{name}");
        // SAFETY: looks a name up in the library that `context` has loaded.
        let function = unsafe { sys::culib().get::<Function>(name.as_bytes()) };
        let function = *function.unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, function, kinds)
    });
    let functions = functions.collect::<Vec<_>>();
    let (mut places, mut random) = (Places::new(), Random(0x9e37_79b9_7f4a_7c15));
    let (mut succeeded, mut tried) = (0, 0);
    while tried < CALLS {
        if tried % SEQUENCE == 0 {
            let device = random.below(devices) as c_int;
            let mut context = std::ptr::null_mut();
            // SAFETY: the calls get what they ask for.
            unsafe {
                let _ = sys::cuDevicePrimaryCtxReset_v2(device);
                let _ = sys::cuDevicePrimaryCtxRetain(&mut context, device);
                let _ = sys::cuCtxSetCurrent(context);
            }
        }
        let (name, function, kinds) = &functions[random.below(functions.len())];
        // What is missing takes no arguments and is tried less often.
        if kinds.is_empty() && random.below(20) != 0 {
            continue;
        }
        tried += 1;
        let mut a = [0; MOST];
        for (argument, kind) in a.iter_mut().zip(kinds) {
            *argument = places.argument(*kind, &mut random);
        }
        // SAFETY: pointers are null, or lead to as much memory as the function may use.
        let code =
            unsafe { function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]) };
        assert_ne!(code, UNKNOWN, "{name} {a:x?}");
        succeeded += usize::from(code == 0);
        places.keep(&mut random);
    }
    println!("{succeeded} of {tried} calls succeeded");
    assert!(succeeded > tried / 10, "most calls get nowhere");
    std::mem::forget(primary); // it may be gone
}

#[test]
fn whatever_a_function_is_given_it_answers() {
    let ended = alone("calls", &[]);
    let (out, err) = (ended.stdout, String::from_utf8_lossy(&ended.stderr));
    let last = err.lines().rev().take(5).collect::<Vec<_>>();
    assert!(
        ended.status.success(),
        "{}: {}\n{last:#?}",
        ended.status,
        String::from_utf8_lossy(&out)
    );
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn every_function_is_found() {
    let functions = functions();
    let known = ["cuMemcpyHtoD_v2", "cuLaunchKernel", "cuTexObjectCreate", "cuGetErrorName"];
    for name in known {
        assert!(functions.iter().any(|(other, _)| other == name), "{name}");
    }
    assert!(functions.len() > 300, "{}", functions.len());
    let missing = functions.iter().find(|(name, _)| name == "cuTexObjectCreate").unwrap();
    context(1);
    // SAFETY: the function takes nothing, and does nothing.
    let code = unsafe {
        let function = sys::culib().get::<Function>(missing.0.as_bytes()).unwrap();
        function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    };
    assert_eq!(code, NOT_SUPPORTED);
}

/// The page includes the lists from this file.
const GOLDEN: &str = "tests/goldens/functions.txt";

/// Functions of the driver that cudarc calls: in `driver::safe`, and in `driver::result`, on which
/// that stands.
fn called_by_cudarc() -> BTreeSet<String> {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--offline", "--format-version=1"]);
    let metadata = metadata.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata = String::from_utf8(metadata.stdout).unwrap();
    let mut manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let path = manifests.find_map(|path| {
        let path = Path::new(path.split('"').next()?).parent()?;
        path.file_name()?.to_str()?.starts_with("cudarc-").then(|| path.join("src/driver"))
    });
    let folder = path.unwrap();
    let safe = folder.join("safe").read_dir().unwrap().map(|file| file.unwrap().path());
    let sources =
        safe.chain([folder.join("result.rs")]).map(|f| std::fs::read_to_string(f).unwrap());
    let mut called = BTreeSet::new();
    for source in sources {
        for call in source.split("sys::cu").skip(1) {
            let name = call.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            let is_function = call.starts_with(|letter: char| letter.is_uppercase());
            called.extend(name.filter(|_| is_function).map(|name| format!("cu{name}")));
        }
    }
    called
}

#[test]
fn the_page_lists_the_functions() {
    let functions = functions();
    let missing = include_str!("../src/api/missing.rs");
    let is_missing = |name: &str| missing.split_whitespace().any(|word| word == name);
    let list = |names: Vec<&str>| {
        let mut lines = vec![String::new()];
        for name in names {
            match lines.last_mut() {
                Some(line) if line.len() + name.len() < 95 => *line += &format!("`{name}` "),
                _ => lines.push(format!("`{name}` ")),
            }
        }
        lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect::<String>()
    };
    let mut answered: Vec<_> = functions.iter().map(|(name, _)| name.as_str()).collect();
    answered.retain(|name| !is_missing(name));
    answered.sort_unstable();
    let called = called_by_cudarc();
    assert!(called.len() > 80, "{called:?}");
    let refused = called.iter().map(String::as_str).filter(|name| !answered.contains(name));
    let refused: Vec<_> = refused.collect();
    for name in &refused {
        assert!(is_missing(name), "{name} is neither answered nor refused by name");
    }
    let fresh = format!(
        "ANCHOR: answered\n{}ANCHOR_END: answered\nANCHOR: refused\n{}ANCHOR_END: refused\n",
        list(answered),
        list(refused)
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert!(
        fresh == committed,
        "if this is meant, run UPDATE_GOLDEN=1 cargo test -p emulated-driver:\n{fresh}"
    );
}
