//! What is shown beside a ladder: figures of another machine, or of textbooks.

/// A figure of a rung.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The rung's public name.
    pub id: String,
    /// Low end of what is stated, in nanoseconds.
    pub lo_ns: f64,
    /// High end; the same where one figure is stated.
    pub hi_ns: f64,
}

/// What is shown beside.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// What it is called.
    pub name: String,
    /// Of no machine in particular: rules of thumb.
    pub textbook: bool,
    /// Where the figures come from.
    pub source: String,
    /// In the order of the ladder.
    pub figures: Vec<Figure>,
}
