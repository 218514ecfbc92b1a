//! Random programs store what an H200 and an H100 stored for them: see `goldens/programs.py`.

use std::fmt::Write as _;

#[path = "../examples/random-programs/main.rs"]
mod example;

#[test]
fn values_are_those_of_the_hardware() {
    let lines = include_str!("goldens/programs.txt").lines().filter(|line| !line.starts_with('#'));
    let mut lines = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let (mut same, mut same_without, mut others) = (0, 0, Vec::new());
    for first in example::files() {
        for (number, program, bytes) in example::stored(first).unwrap() {
            let hash = hmac_sha256::Hash::hash(&bytes[..program.compared as usize]);
            let mut digits = String::new();
            hash[..8].iter().for_each(|byte| write!(digits, "{byte:02x}").unwrap());
            let line = lines.next().expect("a line for each program");
            assert_eq!(line[0], number.to_string());
            // Behind the digits: why they differ, and the digits without ptxas' optimiser.
            let plain = line.get(3).map(|plain| *plain == digits);
            match (line[1] == digits, line.len(), plain) {
                (true, 2, _) => same += 1,
                (false, 4, Some(true)) => same_without += 1,
                (false, 3, _) => {}
                _ => others.push(number),
            }
        }
    }
    assert!(others.is_empty(), "not as programs.txt says: programs {others:?}");
    assert_eq!((same, same_without, lines.next()), (623, 16, None));
}
