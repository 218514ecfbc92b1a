//! What the book says that the emulator says of broken kernels is what it says.

#[path = "../examples/broken-kernels.rs"]
mod example;

/// The page includes the sentences from this file, each by its kernel's name.
const GOLDEN: &str = "tests/goldens/broken-kernels.txt";

#[test]
fn sentences_are_those_of_the_page() {
    let sentences = example::sentences().unwrap();
    let anchored = sentences.into_iter().map(|(kernel, sentence)| {
        format!("ANCHOR: {kernel}\n{}ANCHOR_END: {kernel}\n", wrapped(&sentence))
    });
    let fresh = anchored.collect::<String>();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(GOLDEN).unwrap();
    assert!(
        fresh == committed,
        "if this is meant, run UPDATE_GOLDEN=1 cargo test -p emulator:\n{fresh}"
    );
}

/// In lines of at most 80 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => word.clone_into(line),
            Some(line) if line.len() + word.len() < 80 => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}
