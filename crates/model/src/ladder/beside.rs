//! What is shown with a ladder: figures of another machine, or of textbooks.

/// A figure of a rung.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceFigure {
    /// The rung's public name.
    pub id: String,
    /// Low end of the stated range, in nanoseconds.
    pub lo_ns: f64,
    /// High end; the same where one figure is stated.
    pub hi_ns: f64,
}

/// A reference that is shown with a ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// Rules of thumb, of no particular machine.
    pub textbook: bool,
    /// Where the figures come from.
    pub source: String,
    /// In the order of the ladder.
    pub figures: Vec<ReferenceFigure>,
}
