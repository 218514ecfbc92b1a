//! Debug information: which line of the source an instruction comes from.

use std::collections::HashMap;

/// By `!7`, what stands behind it: `!DILocation(` and the like.
#[derive(Default)]
pub(super) struct Lines<'t>(pub(super) HashMap<&'t str, &'t str>);

impl<'t> Lines<'t> {
    /// The line of an instruction: of those that it was inlined through, the innermost one that is
    /// in the source itself.
    pub(super) fn of(&self, instruction: &str, source: &str) -> Option<u32> {
        let mut name = instruction.split_once("!dbg ")?.1.split(',').next()?.trim();
        loop {
            if self.file(self.field(name, "scope")?) == Some(source) {
                return self.field(name, "line")?.parse().ok();
            }
            name = self.field(name, "inlinedAt")?;
        }
    }

    /// The file that a scope lies in.
    fn file(&self, mut name: &'t str) -> Option<&'t str> {
        loop {
            if let Some(file) = self.field(name, "file") {
                return self.field(file, "filename");
            }
            name = self.field(name, "scope")?;
        }
    }

    /// `field: value` in a node.
    fn field(&self, name: &str, field: &str) -> Option<&'t str> {
        let (_, fields) = self.0.get(name)?.split_once('(')?;
        let fields = fields.trim_end_matches(')').split(", ");
        let value = fields.filter_map(|part| part.split_once(": ")).find(|(key, _)| *key == field);
        value.map(|(_, value)| value.trim_matches('"'))
    }
}
