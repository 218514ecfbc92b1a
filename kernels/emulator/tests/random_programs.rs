//! Random programs store what an H200 stored for them: see `goldens/programs.py`.

use std::fmt::Write as _;

#[path = "../examples/random-programs/main.rs"]
mod example;

#[test]
fn values_are_those_of_the_hardware() {
    let lines = include_str!("goldens/programs.txt").lines().filter(|line| !line.starts_with('#'));
    let mut lines = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let (mut same, mut others) = (0, Vec::new());
    for first in example::files() {
        for (number, program, bytes) in example::stored(first).unwrap() {
            let hash = hmac_sha256::Hash::hash(&bytes[..program.compared as usize]);
            let mut digits = String::new();
            hash[..8].iter().for_each(|byte| write!(digits, "{byte:02x}").unwrap());
            let line = lines.next().expect("a line for each program");
            assert_eq!(line[0], number.to_string());
            // What follows the digits is why they differ.
            match (line[1] == digits, line.len()) {
                (true, 2) => same += 1,
                (false, 3) => {}
                _ => others.push(number),
            }
        }
    }
    assert!(others.is_empty(), "not as programs.txt says: programs {others:?}");
    assert_eq!((same, lines.next()), (623, None));
}
