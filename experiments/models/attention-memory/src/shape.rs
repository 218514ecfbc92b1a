//! What attention is computed of, in which way, and what that takes.

use lab::Case;

/// What attention is computed of.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) tokens: usize,
    /// Heads of all sequences of a batch.
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

    /// Bytes of Q, of K, of V, or of the output, in FP32.
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

lab::words! {
    /// How attention is computed.
    pub(crate) enum Method {
        Naive = "naive",
        HeadByHead = "head_by_head",
        Flash = "flash",
    }
}

impl Method {
    /// Heads whose scores are in memory at once.
    pub(crate) fn at_once(self, shape: &Shape) -> usize {
        match self {
            Method::Naive => shape.heads,
            Method::HeadByHead => 1,
            Method::Flash => 0,
        }
    }

    /// Bytes that it needs: three inputs, the output, and scores.
    pub(crate) fn bytes(self, shape: &Shape) -> usize {
        let scores = self.at_once(shape) * shape.tokens * shape.tokens;
        4 * shape.bytes() + scores * size_of::<f32>()
    }
}
