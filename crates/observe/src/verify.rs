//! Every program of both kernel halves, loaded one by one with dwell's own loader: which of them
//! this kernel takes, and how much work they are to its verifier.
//!
//! For the tests of kernels (`cargo xtask kernels`); no verb of dwell uses it.

use crate::sources::bpf::types::Types;
use crate::sources::bpf::{self, BpfRefusal};
use crate::spikes;
use aya::programs::{Program, ProgramError};
use aya::{Btf, Ebpf};

/// What became of a program.
#[derive(Debug)]
pub struct Verified {
    /// Its object: `dwell` or `wake`.
    pub object: &'static str,
    /// Its name; `*` for all of an object that could not be opened.
    pub program: String,
    /// The instructions that the verifier went through, where the kernel counts them (Linux 5.16
    /// and newer); or why it was refused.
    pub result: Result<Option<u32>, String>,
}

/// Loads each program. Nothing is attached, and nothing stays.
pub fn verify() -> Vec<Verified> {
    let dwell = bpf::opened(|ebpf, types| each("dwell", ebpf, types));
    let wake = spikes::opened(|ebpf, types| each("wake", ebpf, types));
    [("dwell", dwell), ("wake", wake)].into_iter().flat_map(|(object, all)| or_none(object, all)).collect()
}

fn or_none(object: &'static str, all: Result<Vec<Verified>, BpfRefusal>) -> Vec<Verified> {
    all.unwrap_or_else(|why| vec![Verified { object, program: "*".to_owned(), result: Err(why.to_string()) }])
}

fn each(object: &'static str, ebpf: &mut Ebpf, types: &Types) -> Vec<Verified> {
    let one = |(name, program): (&str, &mut Program)| {
        let result = match program {
            Program::BtfTracePoint(_) if !types.has_tracepoint(name) => {
                Err("this kernel has no such tracepoint".to_owned())
            }
            _ => load(name, program, types.targets()).map_err(|error| {
                let (doing, program) = ("load", name.to_owned());
                BpfRefusal::Program { doing, program, error: Box::new(error) }.to_string()
            }),
        };
        Verified { object, program: name.to_owned(), result }
    };
    let mut all: Vec<_> = ebpf.programs_mut().map(one).collect();
    all.sort_by(|a, b| a.program.cmp(&b.program));
    all
}

/// Loads it, and asks for the count.
fn load(name: &str, program: &mut Program, btf: &Btf) -> Result<Option<u32>, ProgramError> {
    match program {
        Program::BtfTracePoint(program) => program.load(name, btf)?,
        Program::Iter(program) => program.load("task", btf)?,
        Program::PerfEvent(program) => program.load()?,
        Program::RawTracePoint(program) => program.load()?,
        Program::UProbe(program) => program.load()?,
        _ => return Err(ProgramError::UnexpectedProgramType),
    }
    // Kernels that do not tell have loaded it all the same.
    Ok(program.info().ok().and_then(|info| info.verified_instruction_count()))
}
