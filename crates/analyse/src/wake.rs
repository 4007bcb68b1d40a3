//! From what the measuring threads counted to what may be said of it: the causes of the latest wake-ups.

mod spikes;

pub use spikes::{spike, spikes};
