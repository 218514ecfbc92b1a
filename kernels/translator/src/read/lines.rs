//! Debug information: which line of the source an instruction comes from.

use std::collections::HashMap;

/// Scopes and calls are nested no deeper than this.
const DEEPEST: usize = 64;

pub(super) struct Lines<'a> {
    /// By `!7`, what stands behind `!DILocation(` and the like.
    nodes: HashMap<&'a str, &'a str>,
    source: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str, source: &'a str) -> Self {
        let nodes = text.lines().filter(|line| line.starts_with('!'));
        let nodes = nodes.filter_map(|line| {
            let (name, definition) = line.split_once(" = ")?;
            Some((name, definition.trim_start_matches("distinct ")))
        });
        Self { nodes: nodes.collect(), source }
    }

    /// The line of an instruction, or 0: of those that it was inlined through, the innermost one
    /// that is in the source itself.
    pub(super) fn of(&self, instruction: &str) -> u32 {
        let reference = instruction.split("!dbg ").nth(1).and_then(|rest| rest.split(',').next());
        let mut place = reference.and_then(|name| self.nodes.get(name.trim()));
        for _ in 0..DEEPEST {
            let Some(location) = place else { break };
            let is_own = field(location, "scope").is_some_and(|scope| self.is_own(scope));
            if let (true, Some(line)) = (is_own, field(location, "line")) {
                return line.parse().unwrap_or(0);
            }
            place = field(location, "inlinedAt").and_then(|at| self.nodes.get(at));
        }
        0
    }

    /// Whether a scope lies in the source itself.
    fn is_own(&self, scope: &str) -> bool {
        let mut name = scope;
        for _ in 0..DEEPEST {
            let Some(node) = self.nodes.get(name) else { break };
            if node.starts_with("!DIFile") {
                return field(node, "filename") == Some(self.source);
            }
            match field(node, "file").or_else(|| field(node, "scope")) {
                Some(outer) => name = outer,
                None => break,
            }
        }
        false
    }
}

/// `name: value` in a node.
fn field<'n>(node: &'n str, name: &str) -> Option<&'n str> {
    let (_, fields) = node.split_once('(')?;
    let fields = fields.trim_end_matches(')').split(", ");
    let value = fields.filter_map(|field| field.split_once(": ")).find(|(key, _)| *key == name);
    value.map(|(_, value)| value.trim_matches('"'))
}
