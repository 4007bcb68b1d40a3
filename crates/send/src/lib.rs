//! Results for other hosts: what is sent of one, what an answer means, and when to try again.
//!
//! Rows of tables go as files ([`Files`]), to a directory or by HTTP PUT. For OpenTelemetry,
//! [`otlp`] makes logs and metrics of the same rows, so what `--redact` takes out of one is in
//! none. What makes an answer a success, a refusal, or a reason to wait is in [`Answer`]. Pure:
//! bytes come out, and nobody is told where they go.

mod answer;
mod environment;
mod files;
pub mod otlp;
mod pause;
mod url;

pub use answer::{Answer, HttpAnswer};
pub use environment::Environment;
pub use files::Files;
pub use pause::{PAUSE_MAX, pause};
pub use url::Url;
