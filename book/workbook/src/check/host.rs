//! What of a file is for the host: `main`, and what it calls. A kernel's compiler has no use for
//! it, so that spaces stand in its place, and every line stays where it is.

use lab::kernel::{literal, logical_line};

/// Words of what is for the GPU.
const OF_GPU: [&str; 5] = ["__global__", "__device__", "__constant__", "__managed__", "__shared__"];
/// Words that what both use begins with.
const OF_BOTH: [&str; 6] = ["typedef", "constexpr", "const", "static_assert", "using", "namespace"];
/// Words that a type's own definition begins with.
const TYPES: [&str; 4] = ["struct", "class", "union", "enum"];
/// Words that only code of the host has, beside names such as `cudaMalloc`.
const OF_HOST: [&str; 10] =
    ["std", "stdout", "stderr", "fprintf", "FILE", "exit", "malloc", "calloc", "rand", "srand"];

/// The source without what is for the host; `None` if nothing of it is.
pub(super) fn without(source: &str) -> Option<String> {
    let (mut left, mut rest, mut start) = (String::new(), source, 0);
    let mut item = String::new(); // what has been read of it, without comments
    let mut depth = 0;
    while let Some(c) = rest.chars().next() {
        let at_line_start = left.trim_end_matches([' ', '\t']).ends_with('\n') || left.is_empty();
        let (length, is_code) = match c {
            '/' if rest.starts_with("//") => (logical_line(rest), false),
            '/' if rest.starts_with("/*") => {
                (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), false)
            }
            '#' if at_line_start => {
                let line = logical_line(rest);
                left += &rest[..line];
                rest = &rest[line..];
                if item.is_empty() {
                    start = left.len();
                }
                continue;
            }
            '"' | '\'' => (literal(rest, c), true),
            _ => (c.len_utf8(), true),
        };
        let (text, after) = rest.split_at(length);
        if item.is_empty() && is_code && !c.is_whitespace() {
            start = left.len();
        }
        left += text;
        rest = after;
        if !is_code || item.is_empty() && c.is_whitespace() {
            continue;
        }
        let ends = match c {
            '{' if depth == 0 && is_transparent(&item) => {
                item.clear();
                continue;
            }
            '}' if depth == 0 => {
                item.clear(); // of a namespace
                continue;
            }
            '{' => {
                depth += 1;
                false
            }
            '}' => {
                depth -= 1;
                depth == 0 && is_function(&item)
            }
            ';' => depth == 0,
            _ => false,
        };
        item += text;
        if ends {
            if is_of_host(&item) {
                let blank = left[start..].chars().map(|c| if c == '\n' { c } else { ' ' });
                let blank: String = blank.collect();
                left.truncate(start);
                left += &blank;
            }
            item.clear();
        }
    }
    (left != source).then_some(left)
}

/// `namespace x` and `extern "C"`, of which each part is looked at.
fn is_transparent(item: &str) -> bool {
    let words = item.split_whitespace().collect::<Vec<_>>();
    matches!(words[..], ["namespace", ..] | ["extern", "\"C\""])
}

/// Whether a body in braces ends it: not that of a type, and not a list of values.
fn is_function(item: &str) -> bool {
    let head = item.split('{').next().unwrap_or_default();
    let mut words = head.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| TYPES.contains(&word)) && !head.trim_end().ends_with(')') {
        return false; // `struct alignas(16) P {`
    }
    let value = head.find('=').filter(|_| !head.contains("operator")).unwrap_or(head.len());
    head[..value].contains('(')
}

fn is_of_host(item: &str) -> bool {
    let mut words = item.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    if words.clone().any(|word| OF_GPU.contains(&word)) {
        return false;
    }
    if words.clone().any(is_word_of_host) {
        return true;
    }
    let first = words.find(|word| !["", "static", "inline"].contains(word)).unwrap_or_default();
    // A constant number can be used on the GPU; what points to something lies on the host.
    let is_host = first == "const" && item.split('=').next().is_some_and(|name| name.contains('*'));
    let is_both = OF_BOTH.contains(&first) || TYPES.contains(&first) || first == "template";
    is_host || is_function(item) || !is_both
}

/// Whether it is in no code that can be for both.
fn is_word_of_host(word: &str) -> bool {
    let api = word.strip_prefix("cuda").filter(|rest| !rest.starts_with("TextureObject"));
    OF_HOST.contains(&word) || api.is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn what_is_for_the_host_goes_and_lines_stay() {
        let source = "#include <stdio.h>\n#include \"mine.h\"\nusing namespace std;\n\
                      #define CHECK(x) do { x; } \\\n  while (0)\n\
                      const int N = 3; // } \\\n}\n/*/ } */const char *title = \"t\";\nstatic float *host = new float[N];\n\
                      struct alignas(16) P { float x; };\nextern \"C\" {\n__global__ void k(P *p) { p->x = '}'; }\n}\n\
                      __constant__ float table[] = {1, 2};\nvoid launch(int n);\n\
                      template <class T> T twice(T t) { return 2 * t; }\n\
                      template <class T> void check(T e) { if (e) exit(1); }\n\
                      struct Timer { cudaEvent_t start; };\n\
                      template <class T> __device__ T half(T t) { return t / 2; }\n\
                      int main(int n = 1)\n{\n    k<<<1, 1>>>(nullptr); // {\n    return 0;\n}\n";
        let left = without(source).unwrap();
        assert_eq!(left.lines().count(), source.lines().count(), "{left}");
        for kept in
            ["CHECK", "const int N", "P { float x; };", "void k(P", "table", "T half", "stdio"]
        {
            assert!(left.contains(kept), "{kept}\n{left}");
        }
        for gone in [
            "title", "using", "host", "launch", "twice", "check(T", "Timer", "main", "<<<",
            "return 0",
        ] {
            assert!(!left.contains(gone), "{gone}\n{left}");
        }
        assert_eq!(without(&left), None, "{left}");
    }
}
