//! A kernel that is a template, with its arguments: `scale<float, 4>`. Nothing makes a kernel of it
//! unless something uses it.

use record::names::did_you_mean;
use referee::plan::is_name;
use referee::subject::Subject;

const USE: &str = "workbook_instance";

/// Whether this is how a template and its arguments are written.
pub(super) fn is_one(kernel: &str) -> bool {
    let template = kernel.split_once('<').filter(|(_, rest)| rest.trim_end().ends_with('>'));
    template.is_some_and(|(name, rest)| {
        is_name(name.rsplit("::").next().unwrap_or_default().trim()) && !rest.contains([';', '\n'])
    })
}

/// Its name, without arguments.
pub(super) fn plain(kernel: &str) -> &str {
    kernel.split('<').next().unwrap_or_default().trim()
}

/// A line at the end of the source that uses it.
pub(super) fn line(kernel: &str) -> String {
    format!("\n__device__ auto {USE} = &{kernel};\n")
}

/// Why a compiler refuses that line, if that is the first that it refuses: there is no such
/// template, or these are no arguments of it.
pub(super) fn refused(subject: &Subject, kernel: &str, said: &str) -> Option<String> {
    let (file, name) = (&subject.name, plain(kernel));
    let first = said.split("error: ").nth(1).filter(|first| first.contains(USE))?;
    let error = first.lines().next().unwrap_or_default();
    let known = templates(&subject.source);
    let names: Vec<_> = known.iter().map(|known| known.name).collect();
    let is_known = names.iter().any(|known| name.rsplit("::").next() == Some(known));
    let is_undefined = [format!("\"{name}\""), format!("'{name}'")];
    Some(if !is_known && is_undefined.iter().any(|name| error.contains(name)) {
        let near = did_you_mean(name, names.iter().copied());
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{file} has no template `{name}`{near} (it has {has})")
    } else if !is_known && subject.names(name) {
        format!("`{name}` of {file} is no template: --kernel {name}")
    } else {
        let of = |known: &Template| format!("; it is `template <{}>`", known.parameters);
        let is_it = |known: &&Template| name.rsplit("::").next() == Some(known.name);
        let what = known.iter().find(is_it).map(of).unwrap_or_default();
        format!("--kernel '{kernel}': {error}{what}")
    })
}

/// What the PTX calls it: `.global .align 8 .u64 workbook_instance = _Z5scaleIfLi4EEvPT_;`
pub(super) fn name(ptx: &str) -> Option<String> {
    let value = ptx.lines().find_map(|line| line.split_once(&format!(" {USE} = ")))?.1;
    let value = value.trim().trim_end_matches(';');
    let value = value.strip_prefix("generic(").unwrap_or(value).trim_end_matches(')');
    Some(value.to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Template<'s> {
    pub(super) name: &'s str,
    /// What stands between `<` and `>`.
    parameters: &'s str,
    /// Whether its source has threads along y.
    is_flat: bool,
}

impl Template<'_> {
    /// It with arguments: `scale<float, 256>`.
    pub(super) fn example(&self) -> String {
        let argument = |parameter: &str| match parameter.split_whitespace().next() {
            Some("class" | "typename") => "float",
            Some("bool") => "true",
            _ if self.is_flat => "256",
            _ => "16",
        };
        let arguments: Vec<_> = self.parameters.split(',').map(argument).collect();
        format!("{}<{}>", self.name, arguments.join(", "))
    }
}

pub(super) fn templates(source: &str) -> Vec<Template<'_>> {
    let after = source.split("template").skip(1).filter_map(|rest| {
        let (head, rest) = rest.split_once("__global__")?;
        let parameters = head.trim().strip_prefix('<')?.rsplit_once('>')?.0;
        let is_one = !head.contains([';', '{']) && !parameters.trim().is_empty();
        is_one.then_some((parameters, rest))
    });
    let mut all: Vec<_> = after
        .filter_map(|(parameters, rest)| {
            let mut parts = rest.split('(').map(str::trim_end);
            let words = parts.by_ref().filter_map(|part| {
                part.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()
            });
            let name = words.into_iter().find(|word| is_name(word) && !word.starts_with("__"))?;
            let body = rest.split("__global__").next().unwrap_or_default();
            Some(Template { name, parameters, is_flat: !body.contains("threadIdx.y") })
        })
        .collect();
    all.dedup_by_key(|template| template.name);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_with_arguments_is_used_and_found() {
        for (kernel, is) in [
            ("scale<float, 4>", true),
            ("mine::scale<S<int>>", true),
            ("scale", false),
            ("<float>", false),
            ("scale<float>; int x = f<1>", false),
        ] {
            assert_eq!(is_one(kernel), is, "{kernel}");
        }
        for ptx in [
            ".global .align 8 .u64 workbook_instance = _Z5scaleIfEvPT_;",
            ".visible .global .align 8 .u64 workbook_instance = generic(_Z5scaleIfEvPT_);",
        ] {
            assert_eq!(name(ptx).as_deref(), Some("_Z5scaleIfEvPT_"));
        }
        assert_eq!(name(".global .u32 other = 1;"), None);
    }

    #[test]
    fn a_template_that_is_not_there_is_told_with_those_that_are() {
        let source = "template <class T> __global__ void scale(T *p) {}\n\
                      __global__ void plain() {}";
        let subject =
            Subject { name: "my.cu".to_owned(), source: source.to_owned(), is_ptx: false };
        for (kernel, said, expected) in [
            (
                "scal<int>",
                "identifier \"scal\" is undefined",
                "my.cu has no template `scal`; did you mean `scale`? (it has scale)",
            ),
            (
                "plain<int>",
                "type name is not allowed",
                "`plain` of my.cu is no template: --kernel plain",
            ),
            (
                "scale<flot>",
                "identifier \"flot\" is undefined",
                "--kernel 'scale<flot>': identifier \"flot\" is undefined; it is `template <class T>`",
            ),
        ] {
            let line = line(kernel);
            let said = format!("my.cu(3): error: {said}{line}my.cu(3): error: expected `;`");
            assert_eq!(refused(&subject, kernel, &said).as_deref(), Some(expected));
            let other = format!("my.cu(1): error: expected `;`\n{said}");
            assert_eq!(refused(&subject, kernel, &other), None);
        }
    }

    #[test]
    fn templates_of_kernels_have_names() {
        let source = "template <class T> T twice(T t) { return t; }\n\
                      template <int N>\n__global__ void __launch_bounds__(256) tile(float *p) {}\n\
                      template <class T> static __global__ void scale (T *p) {}\n\
                      __global__ void plain() {}";
        let examples = templates(source).iter().map(Template::example).collect::<Vec<_>>();
        assert_eq!(examples, ["tile<256>", "scale<float>"]);
        let source = "template <typename T, int N, bool EVEN>\n\
                      __global__ void sum(T *p) { p[threadIdx.y * N] = 0; }";
        assert_eq!(templates(source)[0].example(), "sum<float, 16, true>");
    }
}
