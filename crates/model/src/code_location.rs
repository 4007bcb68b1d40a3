//! Code locations, which stacks consist of, and their names.

use crate::{JsonSchema, Pid};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// A code location.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CodeLocation {
    /// Machine code of a mapped file.
    Native {
        /// The file, as the kernel named it when it was mapped: a path, `[vdso]`. In recordings
        /// before [`CodeLocation::Jit`] also [`JIT_MODULE`], with the address in the process.
        module: String,
        /// The address as the file itself counts (as `nm` and `objdump` print it). Of a caller: of
        /// the last byte of its call.
        address: u64,
    },
    /// Code of the kernel or one of its modules.
    Kernel {
        /// The address.
        address: u64,
    },
    /// A line of a program that an interpreter runs. It has its names already.
    Script {
        /// The language.
        language: Language,
        /// The function.
        function: String,
        /// Its file.
        file: String,
        /// The line, from 1; 0 when unknown.
        line: u32,
        /// The line on which the function begins.
        first_line: u32,
    },
    /// The stack continues, but could not be unwound further.
    Broke {
        /// Why, and where, in words.
        why: String,
    },
    /// Machine code that a process made while it ran; it is in no file.
    Jit {
        /// The process.
        pid: Pid,
        /// What made it.
        runtime: Runtime,
        /// The address in the process. Of a caller: of the last byte of its call.
        address: u64,
    },
}

/// What stands for a file where code is in none.
pub const JIT_MODULE: &str = "[jit]";

/// What makes machine code while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(VariantArray)]
pub enum Runtime {
    /// V8 in Node.js.
    Node,
    /// V8 in another program.
    V8,
    /// OpenJDK's virtual machine.
    HotSpot,
    /// .NET.
    DotNet,
    /// LuaJIT.
    LuaJit,
    /// PyPy.
    PyPy,
    /// It is not known: code in executable memory without a file.
    Other,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Runtime; 7] = *Self::VARIANTS.as_array().unwrap();

    /// What stands for a function where code that this has made has no name.
    pub fn mark(self) -> &'static str {
        match self {
            Runtime::Node => "[jit:node]",
            Runtime::V8 => "[jit:v8]",
            Runtime::HotSpot => "[jit:hotspot]",
            Runtime::DotNet => "[jit:dotnet]",
            Runtime::LuaJit => "[jit:luajit]",
            Runtime::PyPy => "[jit:pypy]",
            Runtime::Other => JIT_MODULE,
        }
    }
}

/// Machine code that a process made while it ran, and for which no name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct UnnamedCode {
    /// What made it.
    pub runtime: Runtime,
    /// The process; none in older recordings.
    pub pid: Option<Pid>,
}

/// The language of code, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Compiled to machine code.
    Native,
    /// The kernel.
    Kernel,
    /// Python.
    Python,
    /// Machine code that the program made while it ran.
    Jit,
}

/// A function at a code location.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Its name, demangled; none where there is no symbol.
    pub name: Option<String>,
    /// Source file and line, where there is debug information.
    pub source: Option<(String, u32)>,
    /// It is inlined into the next one in the list.
    pub inlined: bool,
}
