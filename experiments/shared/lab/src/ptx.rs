//! PTX as text: what of it the GPU runs, and what only says where that comes from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use record::hash::sha256;

/// The hash of everything that the GPU runs for a kernel, by the kernel's name: of its
/// instructions and of the functions and variables that they need, SHA-256 in hexadecimal.
/// Comments, lines of the source and other kernels have no part in it.
pub fn functions(ptx: &str) -> BTreeMap<String, String> {
    let (mut header, mut kernels, mut others) = (String::new(), vec![], BTreeMap::new());
    for item in items(ptx) {
        match name(&item) {
            None => header += &item,
            Some(name) if item.contains(".entry ") => {
                kernels.push((name.to_owned(), item.clone()));
            }
            Some(name) => drop(others.insert(name.to_owned(), item.clone())),
        }
    }
    let hash = |kernel: &String| {
        let (mut text, mut seen) = (header.clone(), BTreeSet::new());
        let mut needed = VecDeque::from([kernel]);
        while let Some(item) = needed.pop_front() {
            text += item;
            let named = words(item).filter(|word| seen.insert(*word));
            needed.extend(named.filter_map(|word| others.get(word)));
        }
        sha256(with_plain_names(&text))
    };
    kernels.iter().map(|(name, item)| (name.clone(), hash(item))).collect()
}

/// `ptx` without comments and without columns of the source: equal for two sources that
/// have the same code in the same lines.
pub fn essence(ptx: &str) -> String {
    let without_columns = |line: &str| {
        let places = line.split(", ").map(|place| match place {
            place if place.starts_with(".loc") || place.starts_with("inlined_at") => {
                place.rsplit_once(' ').map_or(place, |(line, _)| line)
            }
            other => other,
        });
        places.collect::<Vec<_>>().join(", ") + "\n"
    };
    code(ptx).map(without_columns).collect()
}

/// `ptx` without the lines of the source.
pub(crate) fn without_lines(ptx: &str) -> String {
    let lines = ptx.split_inclusive('\n');
    lines.filter(|line| !line.trim_start().starts_with(".loc")).collect()
}

/// The lines of `ptx` without comments, those that are not empty.
fn code(ptx: &str) -> impl Iterator<Item = &str> {
    let lines = ptx.trim_end_matches('\0').lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default().trim());
    code.filter(|line| !line.is_empty())
}

/// What a module consists of: directives, variables, functions, kernels.
fn items(ptx: &str) -> Vec<String> {
    let (mut items, mut item, mut depth) = (vec![], String::new(), 0);
    let of_source = |line: &&str| line.starts_with(".loc") || line.starts_with(".file");
    for line in code(ptx).filter(|line| !of_source(line)) {
        item += line;
        item.push('\n');
        depth += line.matches('{').count();
        depth -= line.matches('}').count().min(depth);
        if depth == 0 && (is_directive(&item) || line.ends_with([';', '}'])) {
            items.push(std::mem::take(&mut item));
        }
    }
    items.retain(|item| !item.starts_with(".section")); // for debuggers
    items
}

fn is_directive(item: &str) -> bool {
    [".version", ".target", ".address_size"].iter().any(|d| item.starts_with(d))
}

/// What an item is called, if it is no directive for the whole module.
fn name(item: &str) -> Option<&str> {
    if is_directive(item) {
        return None;
    }
    // A function's results stand before its name.
    let (_, after) = item.split_once(".func").unwrap_or(("", item));
    let after = match after.trim_start().strip_prefix('(') {
        Some(results) => results.split_once(')')?.1,
        None => after,
    };
    words(after).find(|word| !word.starts_with(|c: char| c == '.' || c.is_ascii_digit()))
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty())
}

/// `text` with numbers for the names that NVRTC makes up: those of labels and of the stack
/// count the functions of the file, those of shared arrays are the author's with others.
fn with_plain_names(text: &str) -> String {
    let (mut plain, mut names, mut rest) = (String::new(), BTreeMap::new(), text);
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()));
        if ["$L_", "_ZZ", "__local_depot"].iter().any(|start| word.starts_with(start)) {
            let next = names.len();
            plain += &format!("@{}", names.entry(word).or_insert(next));
        } else {
            plain += word;
        }
        let (between, after) = after.split_at(after.find(is_of_word).unwrap_or(after.len()));
        plain += between;
        rest = after;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "\
// Generated by a compiler
.version 8.4
.target sm_75
.address_size 64
	// .globl	one
.global .align 4 .u32 SIDE = 8;
.global .align 4 .u32 OTHER = 9;
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	ld.global.u32 	%r1, [SIDE];
	ret;
}
.visible .entry one(
	.param .u64 one_param_0
)
{
	.shared .align 4 .b8 _ZZ3oneE4tile[64];
	.loc	1 27 5, function_name $L__info_string0, inlined_at 1 41 13
	@%p1 bra 	$L__BB0_2;
	{ // callseq 0, 0
	call.uni (retval0), helper, (param0);
	} // callseq 0
$L__BB0_2:
	ret;
}
.visible .entry two()
{
	ret;
}
	.file	1 \"kernels/k.cu\"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,0
	}
";

    #[test]
    fn a_kernels_hash_is_of_what_it_runs() {
        let before = functions(MODULE);
        assert_eq!(before.keys().collect::<Vec<_>>(), ["one", "two"]);
        // What changes, and which kernels do.
        let cases: [(&str, &str, &[&str]); 9] = [
            ("// Generated", "// Made", &[]),
            ("1 27 5", "1 30 2", &[]),
            (".b8 95,0", ".b8 96,0", &[]),
            ("_ZZ3oneE4tile", "_ZZ3oneE5array", &[]),
            ("$L__BB0_", "$L__BB7_", &[]),
            ("OTHER = 9", "OTHER = 10", &[]),
            ("SIDE = 8", "SIDE = 16", &["one"]),
            ("[64]", "[128]", &["one"]),
            ("sm_75", "sm_90", &["one", "two"]),
        ];
        for (from, to, changed) in cases {
            assert!(MODULE.contains(from));
            let after = functions(&MODULE.replace(from, to));
            let differ = before.keys().filter(|name| before[*name] != after[*name]);
            assert_eq!(differ.collect::<Vec<_>>(), changed, "{from}");
        }
        let more = MODULE.replace(
            ".visible .entry two",
            ".visible .entry three()\n{\nret;\n}\n.visible .entry two",
        );
        let after = functions(&more);
        assert!(after.len() == 3 && before.iter().all(|(name, hash)| after[name] == *hash));
    }

    #[test]
    fn the_essence_has_lines_and_no_columns() {
        let essence_of = |from, to| essence(&MODULE.replace(from, to));
        for (from, to) in [("27 5", "27 9"), ("41 13", "41 1"), ("// Gen", "\n// ")] {
            assert_eq!(essence_of(from, to), essence(MODULE), "{from}");
        }
        for (from, to) in [("27 5", "28 5"), ("41 13", "42 13"), ("ret;", "exit;")] {
            assert_ne!(essence_of(from, to), essence(MODULE), "{from}");
        }
        assert!(!without_lines(MODULE).contains("27"));
    }
}
