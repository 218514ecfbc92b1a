//! The parameters of a kernel as its source declares them: which has no argument, and what could be
//! launched.

use emulator::{Kernel, Parameter};

use crate::plan::{Plan, Work, element, is_name, split};

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// `const float *in`.
    text: String,
    name: String,
    is_pointer: bool,
    /// What a structure of the source is made of, if all of it is of one type.
    parts: Option<(&'static str, usize)>,
}

/// Types of C++, each with what it is as an argument.
const TYPES: [(&str, &str); 29] = [
    ("half", "f16"),
    ("__half", "f16"),
    ("__nv_bfloat16", "bf16"),
    ("float", "f32"),
    ("double", "f64"),
    ("int", "i32"),
    ("unsigned", "u32"),
    ("unsigned int", "u32"),
    ("char", "i8"),
    ("signed char", "i8"),
    ("unsigned char", "u8"),
    ("short", "i16"),
    ("unsigned short", "u16"),
    ("long long", "i64"),
    ("unsigned long long", "u64"),
    ("int8_t", "i8"),
    ("uint8_t", "u8"),
    ("int16_t", "i16"),
    ("uint16_t", "u16"),
    ("int32_t", "i32"),
    ("uint32_t", "u32"),
    ("int64_t", "i64"),
    ("uint64_t", "u64"),
    ("size_t", "u64"),
    ("bool", "u8"),
    ("uint", "u32"),
    ("long", "i64"),
    ("unsigned long", "u64"),
    ("uchar", "u8"),
];

/// What a type may have besides its name.
const QUALIFIERS: [&str; 5] = ["const", "volatile", "__restrict__", "__restrict", "restrict"];

/// Threads of a block, where nobody says: along x alone, or along x and y.
const BLOCK: &str = "256";
const SQUARE: &str = "16,16";

impl Declared {
    fn of(text: &str) -> Option<Declared> {
        let text = text.split('=').next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let plain = text.split('[').next()?.trim_end();
        let start = plain.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let name = plain[start.map_or(0, |at| at + 1)..].to_owned();
        let is_pointer = text.contains(['*', '[']);
        let is_one = is_name(&name) && start.is_some();
        is_one.then_some(Declared { text, name, is_pointer, parts: None })
    }

    /// The name of its type, without qualifiers and what makes it a pointer.
    fn kind(&self) -> String {
        let before = self.text.split(['*', '[']).next().unwrap_or_default();
        let words = before.split_whitespace();
        let words = words.filter(|word| !QUALIFIERS.contains(word) && *word != self.name);
        words.collect::<Vec<_>>().join(" ")
    }

    fn is_fractional(&self) -> bool {
        !self.is_pointer
            && ["float", "double", "half", "__half", "__nv_bfloat16"].contains(&&*self.kind())
    }

    fn is_size(&self) -> bool {
        let kind = self.kind();
        let is_known = TYPES.iter().any(|(known, _)| *known == kind);
        is_known && !self.is_pointer && !self.is_fractional() && kind != "bool"
    }

    /// An option that gives it an argument: of a pointer, a buffer of so many elements.
    fn option(&self, size: &str, parameter: &Parameter) -> String {
        let Declared { text, name, .. } = self;
        let kind = self.kind();
        if !self.is_pointer {
            let value = match parameter.bytes {
                _ if self.is_size() => name.clone(),
                _ if parameter.is_float => "1.0".to_owned(),
                _ if kind == "bool" => "true".to_owned(),
                ..=8 => "1".to_owned(),
                bytes => format!("'{{{}}}'", vec!["1"; bytes as usize / 4].join(",")),
            };
            return format!("--arg {value}");
        }
        let known = |kind: &str| TYPES.iter().find(|(known, _)| *known == kind);
        let parts = |parts: &(&'static str, usize)| (parts.0, format!("[{}]", parts.1));
        let vector = kind.split_at_checked(kind.len().saturating_sub(1));
        let (kind, parts) = match (known(&kind), vector) {
            (Some((_, kind)), _) => (*kind, String::new()),
            (None, Some((of, parts @ ("2" | "3" | "4")))) if known(of).is_some() => {
                (known(of).map_or("f32", |(_, kind)| kind), format!("[{parts}]"))
            }
            _ => self.parts.as_ref().map_or(("f32", String::new()), parts),
        };
        let fill = if text.starts_with("const ") { ":ramp" } else { "" };
        format!("--arg '{name}={kind}[{size}]{parts}{fill}'")
    }
}

/// The parameters of the kernel that is called `name` there.
pub(crate) fn parameters(source: &str, name: &str) -> Option<Vec<Declared>> {
    let code = without_comments(source);
    let list = code.split("__global__").skip(1).find_map(|rest| {
        let head = &rest[..rest.find(['{', ';'])?];
        let mut places = head.match_indices(name).filter_map(|(at, _)| {
            let is_word = !head[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let list = head[at + name.len()..].trim_start().strip_prefix('(')?;
            is_word.then_some(list)
        });
        places.next()
    })?;
    let mut depth = 1;
    let end = list.find(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let mut left = &list[..end];
    let parts = split(&left.replace(['<', '{'], "(").replace(['>', '}'], ")"));
    let parts = parts.iter().map(|part| {
        let (text, rest) = left.split_at(part.len());
        left = rest.strip_prefix(',').unwrap_or(rest);
        text.trim()
    });
    let parts = parts.filter(|part| !["", "void"].contains(part));
    let declared = parts.map(|part| {
        let declared = Declared::of(part)?;
        Some(Declared { parts: members(&code, &declared.kind()), ..declared })
    });
    declared.collect()
}

/// The type and the number of the members of a structure, if all are of one type: those of
/// `struct Pair { float x, y[2]; };` are three.
fn members(code: &str, name: &str) -> Option<(&'static str, usize)> {
    let body = code.split("struct").skip(1).find_map(|rest| {
        let (before, rest) = rest.split_once('{')?;
        let (body, after) = rest.split_once('}')?;
        let alias = after.split(';').next().unwrap_or_default();
        [before, alias].iter().any(|word| word.trim() == name).then_some(body)
    })?;
    let (mut found, mut count) = (None, 0);
    for member in body.split(';').map(str::trim).filter(|member| !member.is_empty()) {
        let names = member.split(',').map(str::trim).collect::<Vec<_>>();
        let (kind, _) = names[0].split('[').next()?.rsplit_once(char::is_whitespace)?;
        let (_, element) = TYPES.iter().find(|(known, _)| *known == kind.trim())?;
        if *found.get_or_insert(*element) != *element {
            return None;
        }
        for name in names {
            let sizes = name.split('[').skip(1);
            let sizes = sizes.map(|size| size.trim_end_matches(']').parse::<usize>());
            count += sizes.product::<Result<usize, _>>().ok()?;
        }
    }
    Some((found?, count))
}

/// What the PTX has of a kernel, which may be declared before.
pub(crate) fn body<'p>(ptx: &'p str, kernel: &str) -> &'p str {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || ['_', '$'].contains(&c);
    let is_it =
        |body: &&str| body.strip_prefix(kernel).is_some_and(|rest| !rest.starts_with(is_letter));
    let body = ptx.split(".entry ").skip(1).filter(is_it).last().unwrap_or_default();
    body.split_once("\n}").map_or(body, |(body, _)| body)
}

/// Those of a kernel whose source does not tell: `a`, `b` and so on.
pub(crate) fn unknown(parameters: &[Parameter]) -> Vec<Declared> {
    let names = ('a'..='z').map(String::from).chain((0..).map(|number| format!("p{number}")));
    let declared = parameters.iter().zip(names).map(|(parameter, name)| {
        let is_pointer = parameter.bytes == 8 && !parameter.is_float;
        let kind = if parameter.is_float || is_pointer { "float" } else { "int" };
        let sign = if is_pointer { "*" } else { "" };
        Declared { text: format!("{kind} {sign}{name}"), name, is_pointer, parts: None }
    });
    declared.collect()
}

/// Buffers that are of another type than what the source points to: sentences.
pub(crate) fn other_types(all: &[Declared], work: &Work) -> Vec<String> {
    let other = |(one, argument): (&Declared, &String)| {
        let name = argument.split('[').next().filter(|_| one.is_pointer)?;
        let given = work.buffers.get(name)?.element;
        let (_, kind) = TYPES.iter().find(|(known, _)| *known == one.kind())?;
        let wanted = element(kind)?;
        let is_same = (given.bytes(), given.is_float()) == (wanted.bytes(), wanted.is_float());
        let text = &one.text;
        (!is_same).then(|| format!("`{name}` is not of type {kind}, as `{text}` in the source is"))
    };
    all.iter().zip(&work.launch.arguments).filter_map(other).collect()
}

/// What a plan lacks to launch a kernel with these parameters, as a sentence with what could be
/// there: blocks along x alone, if it `is_flat`.
pub(crate) fn lacks(
    plan: &Plan,
    all: &[Declared],
    of: &[Parameter],
    is_flat: bool,
) -> Option<String> {
    let lacks_arguments = plan.arg.is_empty() && !all.is_empty();
    let missing = [
        ("--grid", plan.grid.is_none()),
        ("--block", plan.block.is_none()),
        ("--arg", lacks_arguments),
    ];
    let missing: Vec<_> = missing.into_iter().filter(|(_, is)| *is).map(|(it, _)| it).collect();
    if missing.is_empty() {
        return None;
    }
    let numbers = all.iter().filter(|one| one.is_size());
    let numbers: Vec<_> = numbers.map(|one| one.name.as_str()).collect();
    let set = plan.set.first().and_then(|set| set.split('=').next());
    let (size, value) = match (set, &numbers[..]) {
        (Some(name), _) => (name.to_owned(), 0),
        (None, []) if is_flat => ("n".to_owned(), 1000),
        (None, []) => ("n*n".to_owned(), 100),
        (None, [only]) if is_flat => ((*only).to_owned(), 1000),
        (None, [only]) => (format!("{only}*{only}"), 100),
        (None, [one, other, ..]) => (format!("{one}*{other}"), 100),
    };
    let mut options = vec![];
    let block = plan.block.as_deref().unwrap_or(if is_flat { BLOCK } else { SQUARE });
    if plan.grid.is_none() {
        let threads: Vec<_> = block.split(',').map(str::trim).collect();
        let blocks = match (&threads[..], size.split_once('*')) {
            ([x, y, ..], Some((one, other))) => format!("ceil({one} / {x}),ceil({other} / {y})"),
            ([x, ..], _) => format!("ceil({size} / {x})"),
            _ => size.clone(),
        };
        options.push(format!("--grid '{blocks}'"));
    }
    if plan.block.is_none() {
        options.push(format!("--block {block}"));
    }
    if lacks_arguments {
        options.extend(all.iter().zip(of).map(|(one, parameter)| one.option(&size, parameter)));
    }
    if set.is_none() && (lacks_arguments || plan.arg.is_empty()) {
        let numbers = if numbers.is_empty() { vec!["n"] } else { numbers };
        let sizes = numbers.iter().map(|name| format!("{name}={value}"));
        options.push(format!("--set {}", sizes.collect::<Vec<_>>().join(",")));
    }
    let are = if missing.len() == 1 { "is" } else { "are" };
    Some(format!("{} {are} missing, such as {}", and(&missing), options.join(" ")))
}

/// What to say where there are more parameters than arguments, or fewer.
pub(crate) fn differ(
    kernel: &str,
    plan: &Plan,
    of: &Kernel,
    declared: Option<&[Declared]>,
) -> Option<String> {
    let (parameters, given) = (of.parameters.len(), plan.arg.len());
    if parameters == given {
        return None;
    }
    let mut said = format!("`{kernel}` has {parameters} parameter");
    said += if parameters == 1 { "" } else { "s" };
    if let Some(all) = declared {
        let texts = all.iter().map(|one| one.text.as_str()).collect::<Vec<_>>();
        said += &format!(" ({})", texts.join(", "));
    }
    let list = plan.arg.join(", ");
    said += &format!(
        ", and there {} {given} --arg{}{list}",
        if given == 1 { "is" } else { "are" },
        if given == 0 { "" } else { ": " }
    );
    let none = declared.map(|all| without_argument(all, &plan.arg)).unwrap_or_default();
    if let Some((place, first)) = none.first() {
        let texts = none.iter().map(|(_, one)| format!("`{}`", one.text)).collect::<Vec<_>>();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let have = if texts.len() == 1 { "has" } else { "have" };
        said += &format!(
            ". {} {have} none, such as {}",
            and(&texts),
            first.option("n", &of.parameters[*place])
        );
    }
    Some(said)
}

/// The parameters that have no argument, with their places: by names, or else by what takes a
/// buffer; nothing if neither tells.
fn without_argument<'d>(all: &'d [Declared], arguments: &[String]) -> Vec<(usize, &'d Declared)> {
    let is_buffer = |text: &str| text.split_once('=').is_some_and(|(_, of)| of.contains('['));
    let name = |text: &str| text.split(['=', '[']).next().unwrap_or_default().to_owned();
    let names: Vec<_> = arguments.iter().map(|text| name(text)).collect();
    if names.iter().all(|name| all.iter().any(|one| one.name == *name)) {
        return (0..).zip(all).filter(|(_, one)| !names.contains(&one.name)).collect();
    }
    let buffers: Vec<_> = arguments.iter().filter(|text| is_buffer(text)).collect();
    let points = |text: &String| buffers.iter().any(|buffer| name(buffer) == name(text));
    let (mut left, mut none) = (arguments.iter().peekable(), vec![]);
    for (place, one) in all.iter().enumerate() {
        if left.next_if(|text| points(text) == one.is_pointer).is_none() {
            none.push((place, one));
        }
    }
    if left.peek().is_some() { vec![] } else { none }
}

/// `a, b and c`.
fn and(words: &[&str]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// The source with a space in the place of each comment.
pub(crate) fn without_comments(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        code += &rest[..at];
        code.push(' ');
        let (end, length) = if rest[at..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        let after = rest[at + 2..].find(end).map_or(rest.len(), |end| at + 2 + end + length);
        rest = &rest[after..];
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "__global__ void scaled(int m);\n// scale(int k)\n\
                          template <int N> __global__ void __launch_bounds__(256)\n\
                          scale(const float *__restrict__ in, // what is read\n    \
                          float4 out[], size_t n /* (all) */, float by = 2) { scale2(n); }";

    const POINTER: Parameter = Parameter { offset: 0, bytes: 8, is_float: false };
    const NUMBER: Parameter = Parameter { offset: 0, bytes: 4, is_float: true };

    fn plan(arguments: &[&str]) -> Plan {
        let arg = arguments.iter().map(|text| (*text).to_owned()).collect();
        Plan { arg, ..Plan::default() }
    }

    #[test]
    fn parameters_are_read_from_the_source() {
        let all = parameters(SOURCE, "scale").unwrap();
        let texts = ["const float *__restrict__ in", "float4 out[]", "size_t n", "float by"];
        assert_eq!(all.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), texts);
        assert_eq!(parameters(SOURCE, "k"), None);
        let of_template = parameters("__global__ void k(Pair<int, S<2>> p, int n);", "k").unwrap();
        assert_eq!(of_template[0].text, "Pair<int, S<2>> p");
        assert_eq!(of_template[1].text, "int n");
        assert_eq!(parameters("__global__ void k(void) {}", "k"), Some(vec![]));
        assert_eq!(parameters("__global__ void k(PARAMETERS) {}", "k"), None);
    }

    #[test]
    fn all_that_is_missing_is_said_at_once_with_what_could_be_there() {
        let all = parameters(SOURCE, "scale").unwrap();
        assert_eq!(
            lacks(&Plan::default(), &all, &[POINTER, POINTER, POINTER, NUMBER], true).unwrap(),
            "--grid, --block and --arg are missing, such as --grid 'ceil(n / 256)' --block 256 \
             --arg 'in=f32[n]:ramp' --arg 'out=f32[n][4]' --arg n --arg 1.0 --set n=1000"
        );
        let given = Plan { block: Some("64".into()), set: vec!["m=9".into()], ..plan(&["m"]) };
        let said = "--grid is missing, such as --grid 'ceil(m / 64)'";
        assert_eq!(lacks(&given, &all, &[], true).unwrap(), said);
        let source = "__global__ void k(int *p, int rows, S s, bool b, int columns) {}";
        let of = [8, 4, 12, 1, 4].map(|bytes| Parameter { bytes, ..POINTER });
        let said = |is_flat| {
            lacks(&Plan::default(), &parameters(source, "k").unwrap(), &of, is_flat).unwrap()
        };
        let end = "--arg 'p=i32[rows*columns]' --arg rows --arg '{1,1,1}' --arg true --arg columns \
                   --set rows=100,columns=100";
        assert!(said(true).ends_with(end), "{}", said(true));
        let start = "--grid, --block and --arg are missing, such as --grid 'ceil(rows / \
                     16),ceil(columns / 16)' --block 16,16 --arg ";
        assert!(said(false).starts_with(start) && said(false).ends_with(end), "{}", said(false));
    }

    #[test]
    fn a_structure_of_one_type_is_so_many_elements() {
        let option = |structure: &str| {
            let source = format!("{structure} __global__ void k(const S *p) {{}}");
            parameters(&source, "k").unwrap()[0].option("n", &POINTER)
        };
        for structure in [
            "struct S { float x, y, z[2];\n float mass; };",
            "typedef struct { float a[5]; } S;",
            "struct __align__(16) T { int i; }; struct S { float a[5]; };",
        ] {
            assert_eq!(option(structure), "--arg 'p=f32[n][5]:ramp'", "{structure}");
        }
        assert_eq!(option("struct S { unsigned char r, g, b; };"), "--arg 'p=u8[n][3]:ramp'");
        for structure in ["struct S { float x; int i; };", "struct S { float a[N]; };", "class S;"]
        {
            assert_eq!(option(structure), "--arg 'p=f32[n]:ramp'", "{structure}");
        }
    }

    #[test]
    fn the_body_of_a_kernel_is_found_by_its_whole_name() {
        let ptx = ".visible .entry k(\n)\n;\n.const x;\n.visible .entry k2() { bar.sync 0; }\n\
                   .visible .entry k(\n) {\nret;\n}\n.const x;";
        assert_eq!(body(ptx, "k"), "k(\n) {\nret;");
        assert_eq!(body(ptx, "k3"), "");
    }

    #[test]
    fn what_has_no_argument_is_found_by_names_or_by_kinds() {
        let all = parameters(SOURCE, "scale").unwrap();
        let without = |arguments: &[&str]| {
            let plan = plan(arguments);
            let none = without_argument(&all, &plan.arg);
            none.iter().map(|(_, one)| one.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(without(&["in=f32[n]", "n", "by=2.0"]), ["out"]);
        assert_eq!(without(&["x=f32[n]", "x", "5"]), ["by"]);
        assert_eq!(without(&["x=f32[n]", "m=5", "2.0"]), ["out"]);
        assert_eq!(without(&["5", "x=f32[n]", "x"]), [""; 0]);
    }
}
