//! Names and elements as the source has them, in sentences about its PTX.

use std::collections::BTreeSet;

use crate::check::Expression;
use crate::signature::without_comments;
use crate::subject::plain;

/// What compilers call the variables of a thread that are in no register.
const LOCAL: &str = "__local_depot";
/// How deep the names in an array's declaration may stand for other names.
const DEEPEST: u32 = 8;

/// A sentence with the source's names: `tile` of `_ZZ3sumE4tile`.
pub fn in_source(text: &str) -> String {
    let mut said = String::new();
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    for part in text.split_inclusive(|c| !is_in_name(c)) {
        let (name, after) = part.split_at(part.trim_end_matches(|c| !is_in_name(c)).len());
        said += if name.starts_with(LOCAL) { "an array of the thread" } else { plain(name) };
        said += after;
    }
    said
}

/// What is said of `tile[33]`, said of `tile[1][1]`, where the source declares `tile[32][32]` in
/// shared memory, of elements that are as large as the access; nothing where it tells no rows.
/// Where it declares fewer elements, each is a structure, and bytes are said.
pub(crate) fn in_rows(what: &str, source: &str) -> Option<String> {
    let (before, place) = what.split_once(" of shared memory, ")?;
    let (name, rest) = place.split_once('[')?;
    let (index, after) = rest.split_once(']')?;
    let mut index: u64 = index.parse().ok()?;
    let (_, bytes) = before.rsplit_once(" bytes at ")?.0.rsplit_once(' ')?;
    let bytes: u64 = bytes.parse().ok()?;
    let (element, rows) = rows(name, &without_comments(source))?;
    if element.is_none() && index >= rows.iter().product() {
        let bytes = index * bytes;
        return Some(format!("{before} of shared memory, {bytes} bytes into {name}{after}"));
    }
    if element != Some(bytes) || rows.len() == 1 {
        return None;
    }
    let mut places = vec![];
    for size in rows.iter().rev() {
        places.push(format!("[{}]", index.checked_rem(*size)?));
        index /= size;
    }
    let places: String = places.into_iter().rev().collect();
    (index == 0).then(|| format!("{before} of shared memory, {name}{places}{after}"))
}

/// The bytes of an element, if its type tells, and the sizes of an array, in the only declaration
/// of this name.
fn rows(name: &str, code: &str) -> Option<(Option<u64>, Vec<u64>)> {
    let mut found = BTreeSet::new();
    for declaration in code.split("__shared__").skip(1) {
        let declaration = declaration.split(';').next()?;
        for own in declaration.split(',') {
            let (head, sizes) = own.split_once('[').unwrap_or((own, "1]"));
            if head.split_whitespace().last() == Some(name) {
                found.insert((declaration.trim_start().to_owned(), sizes.to_owned()));
            }
        }
    }
    let (declaration, sizes) = found.pop_first().filter(|_| found.is_empty())?;
    let (head, _) = declaration.split_once('[').filter(|(head, _)| !head.contains('<'))?;
    let element = head.split_whitespace().find_map(|word| match word {
        "char" | "bool" => Some(1),
        "short" => Some(2),
        "int" | "float" => Some(4),
        "long" | "double" | "size_t" => Some(8),
        _ => None,
    });
    let sizes = sizes.trim_end().strip_suffix(']')?.split("][");
    let sizes = sizes.map(|size| value(size, code, DEEPEST)).collect::<Option<Vec<_>>>()?;
    Some((element, sizes))
}

/// The number that an expression stands for, of numbers, macros and constants.
fn value(text: &str, code: &str, deepest: u32) -> Option<u64> {
    let of = |name: &str| {
        let defined = code.lines().filter_map(|line| {
            let (known, value) = line.trim().strip_prefix("#define ")?.trim().split_once(' ')?;
            (known == name).then_some(value)
        });
        let constants = code.split(';').filter_map(|statement| {
            let (head, value) = statement.rsplit_once('=')?;
            let is_it = head.contains("const") && head.split_whitespace().last() == Some(name);
            is_it.then_some(value)
        });
        let values: BTreeSet<_> = defined.chain(constants).map(str::trim).collect();
        let only = values.first().filter(|_| values.len() == 1 && deepest > 0)?;
        Some(value(only, code, deepest - 1)? as f64)
    };
    let value = Expression::Text(text.trim().to_owned()).value(of).ok()?;
    (value >= 1.0 && value.fract() == 0.0).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (text, said) in [
            ("_Z3foof is called: it has no body", "foo is called: it has no body"),
            ("line 3: _ZZ3sumE4tile is too large", "line 3: tile is too large"),
            ("__local_depot0 is too large.", "an array of the thread is too large."),
            ("what is `_Z`, _ZZ or a_Z3foo?", "what is `_Z`, _ZZ or a_Z3foo?"),
        ] {
            assert_eq!(in_source(text), said);
        }
    }

    #[test]
    fn elements_are_in_the_rows_of_the_source() {
        let what =
            "writes 4 bytes at 0x84 of shared memory, tile[33], which thread (1, 0, 0) reads";
        let of = |source: &str| {
            let said = in_rows(what, source)?;
            Some(said.split_once(", ")?.1.split_once(',')?.0.to_owned())
        };
        for (source, said) in [
            ("__shared__ float tile[32][32];", "tile[1][1]"),
            ("__shared__ volatile unsigned int tile[4][3][5];", "tile[2][0][3]"),
            ("__shared__ Pair<float> tile[32][32];", ""),
            ("#define N 16\n__shared__ float a[4], tile[N][N + 1]; // tile", "tile[1][16]"),
            ("constexpr int M = 8, N = 2 * M; __shared__ float tile[N][N];", ""),
            ("const int M = 8;\nconst int N = 2 * M;\n__shared__ float tile[N][N];", "tile[2][1]"),
            ("__shared__ float tile[1024];", ""),
            ("__shared__ double tile[32][32];", ""),
            ("__shared__ float4 tile[32][32];", ""),
            ("__shared__ Key tile[32];", "132 bytes into tile"),
            ("__shared__ Key tile[64];", ""),
            ("__shared__ float tile[3][4];", ""),
            ("template <int N> __global__ void f() { __shared__ float tile[N][N]; }", ""),
            ("__shared__ float tile[32][32];} { __shared__ float tile[16][64];", ""),
            ("__shared__ float tile[0][32];", ""),
        ] {
            assert_eq!(of(source).unwrap_or_default(), said, "{source}");
        }
    }
}
