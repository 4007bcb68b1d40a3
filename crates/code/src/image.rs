//! ELF files: their headers (`headers`), their symbols one after another (`symbols`), and functions
//! by name or address (`functions`), and the probes in their code (`static_probes`).
//!
//! The one reader of ELF in dwell. Other modules interpret the parts: `cfi` for unwinding,
//! `crate::symbols` for names, crate `python` for interpreters.

mod functions;
mod headers;
mod static_probes;
mod symbols;

pub use functions::Function;
pub use headers::{Error, Image, Segment};
pub(crate) use headers::{Section, structure};
pub use static_probes::StaticProbe;
pub use symbols::SymbolTable;
pub(crate) use symbols::Symbols;
