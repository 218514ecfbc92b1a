//! Every bounds check of a kernel is needed: without it, the experiment fails.
//!
//! A program has its kernels' PTX in it, as text. In a copy of the program one bounds check
//! of one kernel lets one index more through: `i >= count`, `setp.ge` in PTX, becomes
//! `i > count`, `setp.gt`. On the emulated GPU, at its sizes, that has to show.
//!
//! That takes minutes, and changes only where a kernel or its lesson does: each day a part of all
//! checks is tried, and those of new kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use lab::kernel::{COMMITTED_COMPUTE, compute};

use crate::driver::{Desk, build};
use crate::turns;

/// What kernels compare an index with.
const BOUNDS: [&str; 6] = ["count", "words", "width", "height", "end", "n"];

/// Kernels whose bounds checks show nowhere here, and why.
const EXCEPT: [(&str, &str, &str); 7] = [
    ("all-reduce", "ring", WAITS),
    ("all-reduce", "direct", WAITS),
    ("all-reduce", "tagged", WAITS),
    ("all-reduce", "tagged_at_once", WAITS),
    ("attention-memory", "flash", "one turn more finds no key"),
    ("number-formats", "list", "what follows the last pattern decodes to zero, which is there"),
    ("zero-copy", "write", "one thread more writes once more what another has written"),
];
const WAITS: &str = "kernels that wait for each other do not run on the emulated GPU";

/// In so many days each is tried.
const DAYS: u64 = 10;

/// A bounds check of a kernel.
#[derive(Debug)]
struct Bound {
    kernel: String,
    /// The lines of the source that compare with it.
    lines: BTreeSet<usize>,
    /// Where in the PTX the comparisons are, and their new operator.
    edits: Vec<(usize, &'static [u8; 2])>,
}

/// The bounds checks in a file of kernels. Comparisons of one kernel with the same register
/// are one check: a loop has two, and one that is unrolled several.
fn bounds(source: &str, ptx: &str) -> Vec<Bound> {
    let checks: BTreeSet<usize> =
        (1..).zip(source.lines()).filter(|(_, l)| is_check(l)).map(|(n, _)| n).collect();
    let mut found: BTreeMap<(String, &str), Bound> = BTreeMap::new();
    let (mut kernel, mut line, mut at) = (String::new(), 0, 0);
    for text in ptx.split_inclusive('\n') {
        let words: Vec<&str> =
            text.split([' ', '\t', '(', ',', ';', '\n']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            [".visible", ".entry", name, ..] => kernel = name.to_owned(),
            [".loc", _, number, ..] => line = number.parse().unwrap(),
            [setp, _, _, bound] if bound.starts_with("%r") => {
                let operator = match setp.get(..8) {
                    Some("setp.ge.") => Some(b"gt"),
                    Some("setp.lt.") => Some(b"le"),
                    _ => None,
                };
                if let Some(operator) = operator {
                    let check = found.entry((kernel.clone(), bound)).or_insert_with(|| Bound {
                        kernel: kernel.clone(),
                        lines: BTreeSet::new(),
                        edits: vec![],
                    });
                    check.edits.push((at + text.find("setp.").unwrap() + 5, operator));
                    check.lines.extend(checks.get(&line));
                }
            }
            _ => {}
        }
        at += text.len();
    }
    let bounds: Vec<_> = found.into_values().filter(|b| !b.lines.is_empty()).collect();
    assert_eq!(bounds.is_empty(), checks.is_empty(), "lines {checks:?}");
    bounds
}

/// Whether a line of a source compares an index with a bound.
fn is_check(line: &str) -> bool {
    let code = line.split("//").next().unwrap();
    let words: Vec<&str> = code.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let bound = pair[1].trim_end_matches([')', ';']);
        ["<", ">="].contains(&pair[0]) && BOUNDS.contains(&bound)
    })
}

/// Every place where `part` lies in `all`.
fn places(all: &[u8], part: &[u8]) -> Vec<usize> {
    let is_there = |at: &usize| all[*at] == part[0] && all[*at..].starts_with(part);
    let places: Vec<_> = (0..all.len()).filter(is_there).collect();
    assert!(!places.is_empty(), "the program has not the committed PTX in it");
    places
}

#[test]
fn no_bounds_check_can_be_left_out() {
    let root = lab::workspace::root().unwrap();
    let read = |path: String| fs::read_to_string(root.join(path)).unwrap();
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for lesson in lessons::all(&root).unwrap() {
        for kernel in lesson.kernels(&root).unwrap() {
            users.entry(kernel).or_default().push(lesson.name.clone());
        }
    }
    let programs = build(users.values().flatten().collect::<BTreeSet<_>>());
    let mut edited = vec![];
    for (file, lessons) in &users {
        let ptx = read(format!("kernels/ptx/{file}.ptx"));
        let source = read(format!("kernels/{file}.cu"));
        if compute(&source) != COMMITTED_COMPUTE {
            continue; // the emulated GPU does not run it
        }
        for bound in bounds(&source, &ptx) {
            let is = |(of, kernel, _): &(&str, &str, &str)| file == of && bound.kernel == *kernel;
            if !EXCEPT.iter().any(is) {
                edited.push((file, lessons, ptx.clone(), bound));
            }
        }
    }
    let is_new =
        |(file, ..): &(&String, _, _, _)| turns::is_new(&root.join(format!("kernels/{file}.cu")));
    let edited = turns::todays(DAYS, edited, is_new);
    let (edited, passed) = (Mutex::new(edited), Mutex::new(vec![]));
    let work = || {
        let desk = Desk::new();
        while let Some((file, lessons, ptx, bound)) = { edited.lock().unwrap().pop() } {
            let fails = |lesson: &String| without(&desk, &programs, lesson, &ptx, &bound);
            if !lessons.iter().any(fails) {
                let Bound { kernel, lines, .. } = bound;
                passed.lock().unwrap().push(format!("kernels/{file}.cu {lines:?}: {kernel}"));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let passed = passed.into_inner().unwrap();
    assert!(passed.is_empty(), "passed without its bounds check:\n{}", passed.join("\n"));
}

/// Whether an experiment fails without this bounds check.
fn without(desk: &Desk, programs: &Path, lesson: &str, ptx: &str, bound: &Bound) -> bool {
    let mut program = fs::read(programs.join(lesson)).unwrap();
    for start in places(&program, ptx.as_bytes()) {
        for (at, operator) in &bound.edits {
            program[start + at..][..2].copy_from_slice(*operator);
        }
    }
    // With three GPUs, a ring has steps of every kind.
    let program = desk.program_of(&program, programs);
    let ended = program.set("WORKBOOK_EMULATED_GPUS", "3").run();
    ended.code() == Some(1)
}
