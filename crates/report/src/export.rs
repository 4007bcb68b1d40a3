//! Kept results in the formats of other tools: `dwell export`. One file a format; [`tables`] is
//! what CSV and Markdown have in common.
//!
//! A format holds less than a result does: what it leaves out is listed beside the bytes, for the
//! user to read. Names are the program's own, so each goes through [`crate::clean`] or the escapes
//! of the format.

mod csv;
mod format;
mod hdr;
mod markdown;
mod otlp;
mod perfetto;
pub mod proto;
pub mod tables;
mod tree;

pub use csv::csv;
pub use format::Exported;
pub use hdr::{hdr_of_waits, hdr_of_wakeups};
pub use markdown::markdown;
pub use otlp::{otlp, otlp_of_requests, otlp_spans, otlp_spans_of_requests};
pub use perfetto::{perfetto, perfetto_of_requests};
