//! What compilers say: what it means here, and which lines they speak of.

/// What a compiler's words mean that finds no header file.
const NO_HEADERS: &str = "There are no header files here: leave the `#include` out.";
/// What a compiler says, and what that means here.
const ADVICE: [(&str, &str); 5] = [
    (" open source file", NO_HEADERS),
    ("' file not found", NO_HEADERS),
    ("__host__ function", "Put `__device__` in front of a function that kernels call."),
    (
        "without execution space annotations",
        "Put `__device__` in front of a function that kernels call, and what only the host needs \
         between `#ifndef __CUDACC_RTC__` and `#endif`.",
    ),
    (
        "identifier \"__reduce_",
        "This needs compute capability 8.0, and the check compiles for COMPUTE.",
    ),
];

/// What compilers say at the end of a file in which a brace is open, and what that means: whatever
/// else they say comes of it.
const UNCLOSED: [&str; 2] = ["expected a \"}\"", "error: expected '}'"];
const CLOSE: &str = "A `{` has no `}`: see the line that the note names, and those behind it.";

/// Whether a brace is not closed.
pub fn is_unclosed(said: &str) -> bool {
    UNCLOSED.iter().any(|words| said.contains(words))
}

/// What to do about what a compiler says that compiles for `compute`: sentences.
pub fn advice(said: &str, compute: &str) -> Vec<String> {
    if is_unclosed(said) {
        return vec![CLOSE.to_owned()];
    }
    let meant = ADVICE.iter().filter(|(words, _)| said.contains(words));
    let mut all: Vec<_> = meant.map(|(_, advice)| advice.replace("COMPUTE", compute)).collect();
    all.dedup();
    all
}

/// The first line of `file` that a compiler names, if it can with an error:
/// `my.cu(12): error: …`, or `my.cu:12:5: error: …`.
pub fn first_line(file: &str, said: &str) -> Option<u32> {
    let error = said.lines().find(|line| line.contains(file) && line.contains("error: "));
    let (_, rest) = error.unwrap_or(said).split_once(file)?;
    let digits = rest.get(1..)?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits[..end].parse().ok()
}

/// Something that clang says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Line and column of the source; nothing of what is in no line of it.
    pub place: Option<(u32, u32)>,
    pub is_error: bool,
    /// Without the place, in clang's words.
    pub text: String,
}

/// What clang says of a source that it calls `file`. Notes on other lines belong to the message
/// before them.
pub fn messages(file: &str, said: &str) -> Vec<Message> {
    let mut all: Vec<Message> = vec![];
    for line in said.lines() {
        let kinds = [(": error: ", true), (": fatal error: ", true), (": warning: ", false)];
        let kind = kinds.iter().find_map(|(kind, is_error)| {
            let (place, text) = line.split_once(kind)?;
            Some((place, *is_error, text))
        });
        // What is in no file, such as an unknown compute capability.
        let kind = kind.or(line.strip_prefix("error: ").map(|text| ("", true, text)));
        if let Some((place, is_error, text)) = kind {
            all.push(Message { place: place_in(file, place), is_error, text: text.to_owned() });
        } else if let Some((place, note)) = line.split_once(": note: ")
            && let Some(message) = all.last_mut()
            && let Some((number, _)) = place_in(file, place)
        {
            message.text += &format!("\nline {number}: {note}");
        }
    }
    all
}

/// Line and column of `my.cu:12:5`, if it is `file`.
fn place_in(file: &str, place: &str) -> Option<(u32, u32)> {
    let (line, column) = place.strip_prefix(file)?.strip_prefix(':')?.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_names_a_line() {
        let of = |said| first_line("my.cu", said);
        assert_eq!(of("my.cu(12): error: expected a `;`"), Some(12));
        assert_eq!(of("my.cu:7:5: error: unknown"), Some(7));
        assert_eq!(of("my.cu(3): warning #177-D: unused\nmy.cu(5): error: unknown"), Some(5));
        assert_eq!(of("the compiler does not end"), None);
    }

    #[test]
    fn messages_of_clang_are_at_their_lines() {
        let said = "In file included from <built-in>:1:\n\
                    my.cu:3:5: error: expected '}'\n    3 | int\n      | ^\n\
                    my.cu:1:9: note: to match this '{'\nprelude.h:9:1: note: here\n\
                    prelude.h:4:1: warning: unused\nmy.cu:9:1: fatal error: 'a.h' file not found\n\
                    error: unknown target CPU 'sm_99'\n";
        let message = |place, is_error, text: &str| Message { place, is_error, text: text.into() };
        assert_eq!(
            messages("my.cu", said),
            [
                message(Some((3, 5)), true, "expected '}'\nline 1: to match this '{'"),
                message(None, false, "unused"),
                message(Some((9, 1)), true, "'a.h' file not found"),
                message(None, true, "unknown target CPU 'sm_99'"),
            ]
        );
        assert_eq!(advice(said, "7.5"), [CLOSE]);
        assert_eq!(advice(&said.replace("'}'", "';'"), "7.5"), [NO_HEADERS]);
        let said = "my.cu(8): error: A function without execution space annotations\n\
                    At end of source: error: expected a \"}\"";
        assert_eq!(advice(said, "7.5"), [CLOSE]);
    }
}
