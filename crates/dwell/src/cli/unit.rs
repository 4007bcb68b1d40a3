//! `--unit`: what is accounted for as one piece of work.

use model::recording::Comm;
use model::requests::{Unit, Units};
use std::path::PathBuf;

/// What is accounted for as one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnitArg {
    Request,
    /// By threads of this name only.
    Cycle(Option<Comm>),
    /// By calls of this function.
    Call(InFile),
    /// Between a provider's probes.
    Operation(String, InFile),
}

/// Something in a file: the program's own, if none is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InFile {
    pub(crate) name: String,
    pub(crate) file: Option<PathBuf>,
}

impl UnitArg {
    pub(super) fn units(&self) -> Units {
        let (unit, thread, of) = match self {
            UnitArg::Request => (Unit::Request, None, None),
            UnitArg::Cycle(thread) => (Unit::Cycle, *thread, None),
            UnitArg::Call(function) => (Unit::Call, None, Some(function.name.clone())),
            UnitArg::Operation(provider, probe) => {
                (Unit::Operation, None, Some(format!("usdt:{provider}:{}", probe.name)))
            }
        };
        Units { unit, thread, of: of.map(Into::into), deadline_ns: None }
    }
}

/// Parses it.
pub(super) fn unit(text: &str) -> Result<UnitArg, String> {
    let (name, file) = match text.split_once('@') {
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let of_file = |name: &str| InFile { name: name.to_owned(), file: file.clone() };
    // The kernel keeps as much of a thread's name.
    let is_thread = |name: &str| (1..16).contains(&name.len());
    match (text.split_once('='), name.strip_prefix("usdt:").map(|of| of.split_once(':'))) {
        _ if text == "request" => Ok(UnitArg::Request),
        _ if text == "cycle" => Ok(UnitArg::Cycle(None)),
        (Some(("cycle", thread)), _) if is_thread(thread) => Ok(UnitArg::Cycle(Some(Comm::from(thread)))),
        (Some(("cycle", _)), _) => Err("the name of a thread has 1 to 15 bytes: cycle=NAME".to_owned()),
        (_, Some(Some((provider, probe)))) if !provider.is_empty() && !probe.is_empty() => {
            Ok(UnitArg::Operation(provider.to_owned(), of_file(probe)))
        }
        (_, Some(_)) => Err("a probe is written usdt:PROVIDER:NAME".to_owned()),
        _ if name.is_empty() => {
            Err("there are: request, cycle, cycle=NAME, FUNCTION, usdt:PROVIDER:NAME".to_owned())
        }
        _ => Ok(UnitArg::Call(of_file(name))),
    }
}
