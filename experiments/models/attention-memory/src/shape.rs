//! What attention is computed of, in which way, and what that takes.

use lab::Case;

/// What attention is computed of.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) tokens: usize,
    /// Those of all sequences of a batch.
    pub(crate) heads: usize,
    /// Numbers of a query, a key or a value.
    pub(crate) head: usize,
    /// Whether a token sees no later one.
    pub(crate) causal: bool,
}

impl Shape {
    /// Elements of Q, of K, of V, and of the output.
    pub(crate) fn elements(&self) -> usize {
        self.heads * self.tokens * self.head
    }

    /// Bytes of one of them, in FP32.
    pub(crate) fn bytes(&self) -> usize {
        self.elements() * size_of::<f32>()
    }

    pub(crate) fn scale(&self) -> f32 {
        1.0 / (self.head as f32).sqrt()
    }

    /// The case of this name: an addition and a multiplication for each score and each
    /// number of its key, and as many for its value. What is masked does not count.
    pub(crate) fn case(&self, name: &str) -> Case {
        let Shape { tokens, heads, head, causal } = *self;
        let pairs = if causal { tokens * (tokens + 1) / 2 } else { tokens * tokens };
        Case::new(name)
            .with("tokens", tokens)
            .with("heads", heads)
            .with("causal", if causal { "yes" } else { "no" })
            .computes(4 * pairs * head * heads)
    }
}

/// How it is computed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    Naive,
    HeadByHead,
    Flash,
}

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::Naive, Way::HeadByHead, Way::Flash];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Naive => "naive",
            Way::HeadByHead => "head_by_head",
            Way::Flash => "flash",
        }
    }

    /// Of how many heads there are scores in memory at once.
    pub(crate) fn at_once(self, shape: &Shape) -> usize {
        match self {
            Way::Naive => shape.heads,
            Way::HeadByHead => 1,
            Way::Flash => 0,
        }
    }

    /// Bytes that it needs: three inputs, the output, and scores.
    pub(crate) fn bytes(self, shape: &Shape) -> usize {
        let scores = self.at_once(shape) * shape.tokens * shape.tokens;
        4 * shape.bytes() + scores * size_of::<f32>()
    }
}
