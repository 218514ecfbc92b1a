//! Lines that PTX names: what comes out of a header file is of the line that it is used in.

use std::collections::BTreeMap;

/// A file by its number in the PTX, a line and a column.
type Place = [u32; 3];

const LOC: &str = ".loc\t";
const FILE: &str = ".file\t";

/// The file that a kernel is in, by its path in the PTX; of the kernel whose name is like this, or
/// of the first.
pub fn file_of(ptx: &str, kernel: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines = ptx.lines().skip_while(|line| {
        let name = line.split_once(".entry ").map(|(_, name)| name.trim_end_matches([' ', '(']));
        !name.is_some_and(&kernel)
    });
    let [number, ..] =
        lines.find_map(|line| line.trim_start().strip_prefix(LOC).and_then(three))?;
    let of_number = |line: &str| {
        let (this, path) = line.trim_start().strip_prefix(FILE)?.split_once(' ')?;
        (this.parse() == Ok(number)).then(|| path.trim().trim_matches('"').to_owned())
    };
    ptx.lines().find_map(of_number)
}

/// PTX that names lines of `file` alone, which is a path in it.
pub fn of_file(file: &str, ptx: &str) -> String {
    let Some(own) = number(file, ptx) else { return ptx.to_owned() };
    let mut used: BTreeMap<Place, Place> = BTreeMap::new(); // where lines of others are used
    let mut text = String::new();
    for line in ptx.split_inclusive('\n') {
        let Some(place) = line.trim_start().strip_prefix(LOC).and_then(three) else {
            text += line;
            continue;
        };
        if place[0] == own {
            text += line;
            continue;
        }
        let inlined = line.split_once("inlined_at ").and_then(|(_, rest)| three(rest));
        let inlined =
            inlined.and_then(|at| if at[0] == own { Some(at) } else { used.get(&at).copied() });
        if let Some(at) = inlined.or_else(|| outermost(file, own, line)) {
            used.insert(place, at);
            text += &format!("\t.loc\t{} {} {}\n", at[0], at[1], at[2]);
        }
    }
    text
}

/// The number of a file, as in `.file 1 "k.cu"`.
fn number(file: &str, ptx: &str) -> Option<u32> {
    let mut files = ptx.lines().filter_map(|line| line.trim_start().strip_prefix(FILE));
    let (number, _) = files.find_map(|line| {
        line.split_once(' ').filter(|(_, name)| name.trim().trim_matches('"') == file)
    })?;
    number.parse().ok()
}

fn three(text: &str) -> Option<Place> {
    let mut numbers = text.split([' ', ',']).map_while(|word| word.trim().parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// Where clang's comment says that a line is used in the end: `// h.h:4:18 @[ k.cu:5:10 ]`.
fn outermost(file: &str, own: u32, line: &str) -> Option<Place> {
    let (_, last) = line.rsplit_once("@[ ")?;
    let place = last.trim().trim_end_matches([']', ' ']).strip_prefix(file)?;
    let (line, column) = place.strip_prefix(':')?.split_once(':')?;
    Some([own, line.parse().ok()?, column.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::{file_of, of_file};

    #[test]
    fn lines_of_header_files_are_those_that_they_are_used_in() {
        let nvrtc = "\t.loc\t1 5 3\n\t.loc\t2 5 2, function_name $L__info_string0, inlined_at 1 5 3\n\
                     \tmul\n\t.loc\t3 7 9, function_name $L__info_string1, inlined_at 2 5 2\n\tadd\n\
                     \t.loc\t4 1 0\n\t.file\t1 \"k.cu\"\n\t.file\t2 \"/x/h.h\"\n";
        let own = "\t.loc\t1 5 3\n\t.loc\t1 5 3\n\tmul\n\t.loc\t1 5 3\n\tadd\n\
                   \t.file\t1 \"k.cu\"\n\t.file\t2 \"/x/h.h\"\n";
        assert_eq!(of_file("k.cu", nvrtc), own);
        let clang = "\t.loc\t2 4 18   // /headers/h.h:4:18 @[ /headers/g.h:1:1 @[ k.cu:5:10 ] ]\n\
                     \t.file\t1 \"k.cu\"\n";
        assert_eq!(of_file("k.cu", clang), "\t.loc\t1 5 10\n\t.file\t1 \"k.cu\"\n");
        assert_eq!(of_file("other.cu", clang), clang);
    }

    #[test]
    fn a_kernel_is_in_a_file() {
        let ptx = ".visible .entry one(\n)\n\t.loc\t1 5 3\n.entry two(\n\t.loc\t2 1 0\n\
                   \t.file\t1 \"k.cu\"\n\t.file\t2 \"/x/h.h\"\n";
        assert_eq!(file_of(ptx, |_| true).as_deref(), Some("k.cu"));
        assert_eq!(file_of(ptx, |name| name == "two").as_deref(), Some("/x/h.h"));
        assert_eq!(file_of(ptx, |name| name == "three"), None);
    }
}
