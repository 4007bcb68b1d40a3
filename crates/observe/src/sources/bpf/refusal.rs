//! Why BPF cannot be used here: what loads, attaches and maps says it in these words, with what the
//! kernel said and what would help.

use crate::access::{self, AccessDenial};
use aya::EbpfError;
use aya::maps::MapError;
use aya::programs::ProgramError;
use aya::sys::SyscallError;
use model::doctor::KERNELS;
use rustix::io::Errno;
use std::io;
use sys::kernel::btf::{KERNEL_BTF, KernelBtf};

/// What the kernel half needs of the kernel's BPF, as its types name it. Before Linux 5.11 there is
/// no task storage, before 5.15 no registers of a task.
const ABILITIES: [(&str, &str); 2] =
    [("BPF_MAP_TYPE_TASK_STORAGE", "task storage"), ("BPF_FUNC_task_pt_regs", "bpf_task_pt_regs")];

/// The remedy where the kernel has all that is needed and refuses it: nothing on that host.
const TELL: &str = "none on this kernel: tell dwell's authors this line and the output of `uname -r`";

/// The number of fields that are named.
const FIELDS_TOLD: usize = 4;

/// Why the source cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BpfRefusal {
    /// The kernel half is written for other architectures only.
    #[error("dwell has no BPF programs for {0}")]
    Architecture(&'static str),
    /// The kernel does not describe its types.
    #[error("cannot read the kernel's types from {KERNEL_BTF}: {0}")]
    NoTypes(#[source] io::Error),
    /// What it describes cannot be.
    #[error("the kernel's types in {KERNEL_BTF} cannot be used: {0}")]
    Types(String),
    /// The object or a map was refused.
    #[error("cannot load the BPF object: {}", of_object(.0))]
    Load(#[from] Box<EbpfError>),
    /// A buffer cannot be shared with the kernel.
    #[error("cannot map the BPF map {name}: {error}")]
    Map {
        /// Its name.
        name: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
    /// A program was refused.
    #[error("cannot {doing} BPF program {program}: {}", of_program(.error))]
    Program {
        /// `load` or `attach`.
        doing: &'static str,
        /// Its name.
        program: String,
        /// The kernel's error.
        error: Box<ProgramError>,
    },
    /// A program reads what the kernel's types do not have.
    #[error(
        "BPF program {program} reads a field that this kernel does not have in the size it knows: {fields}"
    )]
    Fields {
        /// Its name.
        program: String,
        /// All that this kernel lacks: the program reads one of them at least.
        fields: String,
    },
    /// What was asked for by name cannot be followed.
    #[error("--unit: {0}")]
    Units(String),
    /// It was loaded and attached, and never ran.
    #[error("BPF program {0} is attached, and the kernel does not run it")]
    Silent(&'static str),
    /// There is nothing to attach it to.
    #[error("this kernel has no tracepoint {0}")]
    NoTracepoint(&'static str),
    /// The tasks of this host cannot be listed.
    #[error("cannot find the existing threads: {0}")]
    Look(#[from] io::Error),
    /// The object lacks something this file expects.
    #[error("the BPF object has no {0}")]
    Missing(&'static str),
}

impl BpfRefusal {
    /// A program that could not be loaded on a kernel that lacks these fields.
    pub(super) fn of_load<'a>(
        program: &str,
        error: ProgramError,
        lacking: impl Iterator<Item = &'a str>,
    ) -> Self {
        let program = program.to_owned();
        if verifier_line(&error).is_some_and(|line| is_of_field(&line)) {
            let mut fields: Vec<&str> = lacking.take(FIELDS_TOLD + 1).collect();
            if fields.len() > FIELDS_TOLD {
                fields[FIELDS_TOLD] = "and others";
            }
            return BpfRefusal::Fields { program, fields: fields.join(", ") };
        }
        BpfRefusal::Program { doing: "load", program, error: Box::new(error) }
    }

    /// What would change it. `newer` is the kernel that has what this program is for; empty where
    /// that is not known.
    pub(super) fn remedy(&self, newer: &str) -> String {
        match self {
            BpfRefusal::Program { doing: "attach", error, .. } if is_of_perf(error) => {
                access::perf_remedy(self.errno())
            }
            BpfRefusal::NoTracepoint(_) => newer.to_owned(),
            BpfRefusal::Program { error, .. } if lacks_function(error) && !newer.is_empty() => {
                newer.to_owned()
            }
            _ => self.common_remedy(),
        }
    }

    /// What would change it, where it is all of BPF that is refused.
    pub(crate) fn common_remedy(&self) -> String {
        if let BpfRefusal::Architecture(_) = self {
            return "a machine with x86_64 or aarch64".to_owned();
        }
        let denied = self.is_denied();
        if let Some(outside) = access::sandboxed().filter(|_| denied || self.errno().is_none()) {
            return outside;
        }
        if denied && access::container().is_some() {
            return access::more();
        }
        if access::locked_down() {
            return "boot without lockdown=confidentiality: it forbids to read the kernel's memory"
                .to_owned();
        }
        match self {
            BpfRefusal::Units(_) => {
                "as root: file capabilities do not suffice for probes in files".to_owned()
            }
            _ if denied => "run outside the container or sandbox that forbids it".to_owned(),
            BpfRefusal::NoTypes(_) | BpfRefusal::Types(_) => {
                "a kernel whose BTF is whole (CONFIG_DEBUG_INFO_BTF=y)".to_owned()
            }
            _ if self.errno() == Some(Errno::NOMEM) => "more free memory".to_owned(),
            BpfRefusal::Fields { .. } => TELL.to_owned(),
            _ if !lacking().is_empty() => KERNELS.to_owned(),
            BpfRefusal::Program { error, .. } if lacks_function(error) => "a newer kernel".to_owned(),
            _ => TELL.to_owned(),
        }
    }

    /// The same as the text, and what the kernel's BPF lacks, where that is the reason. Without the
    /// capabilities any map may be the first that is refused: its name says nothing.
    pub(crate) fn why(&self) -> String {
        if let (Some(Errno::PERM), Err(denied)) = (self.errno(), access::bpf()) {
            return denied.why;
        }
        match &lacking()[..] {
            _ if matches!(self, BpfRefusal::Architecture(_) | BpfRefusal::Types(_)) => self.to_string(),
            [] => match access::forbidden_by().filter(|_| self.is_denied()) {
                Some(by) => format!("{self}; {by}"),
                None => self.to_string(),
            },
            lacking => lacks(lacking),
        }
    }

    fn errno(&self) -> Option<Errno> {
        let error = match self {
            BpfRefusal::Map { error, .. } | BpfRefusal::Look(error) | BpfRefusal::NoTypes(error) => error,
            BpfRefusal::Program { error, .. } => inner_io(error.as_ref())?,
            BpfRefusal::Load(error) => inner_io(error.as_ref())?,
            BpfRefusal::Types(_)
            | BpfRefusal::Fields { .. }
            | BpfRefusal::Units(_)
            | BpfRefusal::Silent(_)
            | BpfRefusal::Architecture(_)
            | BpfRefusal::NoTracepoint(_)
            | BpfRefusal::Missing(_) => return None,
        };
        Errno::from_io_error(error)
    }

    /// Whether no more files may be open. Which program meets that is chance, and none is refused.
    pub(crate) fn is_no_file_left(&self) -> bool {
        matches!(self.errno(), Some(Errno::MFILE | Errno::NFILE))
    }

    /// Whether the call itself was refused, and not what was loaded by it: `ENOSYS` is Podman's
    /// answer to calls that its filter does not know.
    fn is_denied(&self) -> bool {
        matches!(self.errno(), Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS)) && !self.has_verifier_line()
    }

    fn has_verifier_line(&self) -> bool {
        matches!(self, BpfRefusal::Program { error, .. } if verifier_line(error).is_some())
    }
}

/// That this kernel is too old, where that is so: whatever else may be missing, no capability would
/// help.
pub(crate) fn too_old() -> Option<AccessDenial> {
    let lacking = lacking();
    (!lacking.is_empty()).then(|| AccessDenial { why: lacks(&lacking), remedy: KERNELS.to_owned() })
}

fn lacks(lacking: &[&str]) -> String {
    format!("this kernel's BPF has no {}", lacking.join(" and no "))
}

/// What the kernel half needs and the kernel's types do not name. Where they cannot be read it is
/// not known.
fn lacking() -> Vec<&'static str> {
    KernelBtf::read().map_or(Vec::new(), |btf| lacking_in(&btf))
}

fn lacking_in(btf: &[u8]) -> Vec<&'static str> {
    let strings = super::btf::strings(btf);
    // Of types that cannot be read nothing is known.
    if strings.is_empty() {
        return Vec::new();
    }
    let has = |name: &str| strings.split(|byte| *byte == 0).any(|known| known == name.as_bytes());
    ABILITIES.iter().filter(|(name, _)| !has(name)).map(|(_, what)| *what).collect()
}

/// The text of an error of the whole object: which map, or which types.
fn of_object(error: &EbpfError) -> String {
    match error {
        EbpfError::MapError(MapError::CreateError { name, io_error }) => format!("map {name}: {io_error}"),
        EbpfError::BtfRelocationError(relocation) => {
            format!("the types of the kernel do not fit {}: {}", relocation.section, root_cause(error))
        }
        other => root_cause(other),
    }
}

/// The text of an error of one program: the kernel's error, and the verifier's last word.
fn of_program(error: &ProgramError) -> String {
    said(root_cause(error), verifier_line(error).as_deref())
}

fn said(error: String, line: Option<&str>) -> String {
    line.map_or(error.clone(), |line| format!("{error}: {line}"))
}

/// The line of the verifier's log that says why; the lines after it are counts.
fn verifier_line(error: &ProgramError) -> Option<String> {
    let ProgramError::LoadError { verifier_log, .. } = error else { return None };
    last_word(&verifier_log.to_string()).map(str::to_owned)
}

fn last_word(log: &str) -> Option<&str> {
    const COUNTS: [&str; 4] = ["processed ", "verification time ", "stack depth ", "insns processed "];
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take_while(|line| !COUNTS.iter().any(|count| line.starts_with(count))).last()
}

/// The verifier does not know a function that the program calls: the kernel is too old.
fn lacks_function(error: &ProgramError) -> bool {
    verifier_line(error).is_some_and(|line| is_of_function(&line))
}

/// It was loaded, and the perf event that it would run for was refused.
fn is_of_perf(error: &ProgramError) -> bool {
    matches!(error, ProgramError::SyscallError(SyscallError { call: "perf_event_open", .. }))
}

/// The verifier met the instruction that the loader puts in the place of one that reads a field
/// that is not there: a call of function 0xbad2310. Newer ones know it.
fn is_of_field(line: &str) -> bool {
    line.contains("unknown#195896080") || line.contains("failed to resolve CO-RE relocation")
}

fn is_of_function(line: &str) -> bool {
    !is_of_field(line) && (line.contains("unknown func") || line.contains("invalid func"))
}

fn inner_io<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let mut inner = error;
    loop {
        if let Some(io) = inner.downcast_ref() {
            return Some(io);
        }
        inner = inner.source()?;
    }
}

/// The text of the innermost error: the outer ones only repeat the context.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(log: &str) -> String {
        said("Permission denied (os error 13)".to_owned(), last_word(log))
    }

    /// What the verifiers of 6.1 and 7.2 say, with their counts after it.
    #[test]
    fn a_refusal_names_the_first_error_and_the_verifiers_last_word() {
        let old = "func 'sched_switch' arg1 has btf_id 9\n\
                   R2 unbounded memory access, use 'var &= const' or 'if (var < const)'\n\
                   verification time 19630 usec\nstack depth 0+56+0\nprocessed 380 insns (limit 1000000)\n";
        assert_eq!(
            told(old),
            "Permission denied (os error 13): R2 unbounded memory access, use 'var &= const' or 'if (var < const)'"
        );
        let new = "failed to resolve CO-RE relocation\nverification time 1 usec\nstack depth 24 max 0\n\
                   insns processed 29+0\nprocessed 29 insns (limit 1000000)\n";
        assert!(told(new).ends_with("(os error 13): failed to resolve CO-RE relocation"));
        assert_eq!(told(""), "Permission denied (os error 13)");
        assert_eq!(told("processed 0 insns"), "Permission denied (os error 13)");
    }

    #[test]
    fn a_kernel_without_a_function_is_told_from_one_that_refuses() {
        assert!(is_of_function("unknown func bpf_find_vma#180"));
        assert!(is_of_function("invalid func unknown#175"));
        assert!(!is_of_function("invalid func unknown#195896080"), "it is no function");
        assert!(!is_of_function("R2 unbounded memory access, use 'var &= const'"));
        let newer = "Linux 6.3 or newer";
        assert_eq!(BpfRefusal::NoTracepoint("sk_data_ready").remedy(newer), newer);
        assert_ne!(BpfRefusal::Missing("sk_data_ready").remedy(newer), newer);
    }

    #[test]
    fn an_architecture_without_programs_is_named() {
        assert!(crate::sources::bpf::made_for(&[1]).is_ok());
        let refused = crate::sources::bpf::made_for(&[]).unwrap_err();
        assert!(matches!(refused, BpfRefusal::Architecture(std::env::consts::ARCH)));
        let refused = BpfRefusal::Architecture("riscv64");
        assert_eq!(refused.why(), "dwell has no BPF programs for riscv64");
        assert_eq!(refused.common_remedy(), "a machine with x86_64 or aarch64");
    }

    #[test]
    fn what_a_kernel_lacks_is_seen_in_its_types() {
        let image = |names: &str| {
            let words = [0x0001_eb9f_u32, 24, 0, 0, 0, names.len() as u32 + 1];
            [&words.map(u32::to_ne_bytes).concat()[..], b"\0", names.as_bytes()].concat()
        };
        let both = "BPF_MAP_TYPE_TASK_STORAGE\0BPF_FUNC_task_pt_regs\0";
        assert!(lacking_in(&image(both)).is_empty());
        assert_eq!(lacking_in(&image("BPF_MAP_TYPE_TASK_STORAGE\0")), ["bpf_task_pt_regs"]);
        assert_eq!(lacking_in(&image("int\0")).len(), 2);
        assert!(lacking_in(&image(both)[..40]).is_empty() && lacking_in(&[]).is_empty(), "it is cut");
    }
}
