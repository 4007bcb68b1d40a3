//! Code locations, which stacks consist of, and their names.

use serde::{Deserialize, Serialize};

/// A code location.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CodeLocation {
    /// Machine code of a mapped file.
    Native {
        /// The file, as the kernel named it when it was mapped: a path, `[vdso]`, `[jit]`.
        module: String,
        /// The address as the file itself counts (as `nm` and `objdump` print it); in code that is
        /// in no file, the address in the process. Of a caller: of the last byte of its call.
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
}

/// The language of code, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Compiled to machine code.
    Native,
    /// The kernel.
    Kernel,
    /// Python.
    Python,
    /// Machine code that the program made itself and named in a perf map.
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
