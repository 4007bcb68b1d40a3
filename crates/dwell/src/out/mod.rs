//! Results and where they go: the page, the forms that are exported, and the store.
//!
//! A result implements [`Render`] in a file of its own, and [`Kind`] beside it if it is read again.
//! A new export format of a result is a function in `report` and a line in the result's
//! [`Render::FORMS`]: its option, its help and its check come from that line. A format that only
//! `dwell export` has is a line in its [`Kind::exports`].

mod args;
mod code;
mod compare;
mod counts;
mod diff;
mod doctor;
mod export;
mod kind;
mod kinds;
mod lab;
mod ladder;
mod list;
mod load;
mod other_latency;
mod outputs;
mod page;
mod path;
mod render;
mod row;
mod run;
mod timings;
mod trend;
mod wake;
mod what_if;

pub(crate) use args::{FormArgs, OutputArgs};
pub(crate) use code::CodeArgs;
pub(crate) use diff::LadderDiffResult;
pub(crate) use export::ExportResult;
pub(crate) use kind::{Kept, Kind};
pub(crate) use kinds::read;
pub(crate) use ladder::{LADDER_FULL, LADDER_QUICK, LadderResult};
pub(crate) use other_latency::OTHER_LATENCY;
pub(crate) use outputs::{Outputs, Page};
pub(crate) use page::{KeptResults, PageResult};
pub(crate) use path::{OutputPath, Paths};
pub(crate) use render::Render;
pub(crate) use row::this_machine;
pub(crate) use run::{NOBODY, RunOutput, read_run};
pub(crate) use timings::TimingsResult;
pub(crate) use trend::TrendResult;
pub(crate) use wake::{SheetResult, junit_has_verdict};
