//! Instructions and their successors. Decoding is left to `disassemble`.

use model::JsonSchema;
use serde::{Deserialize, Serialize};

/// The control flow after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "flow", rename_all = "kebab-case")]
pub enum Flow {
    /// Continues with the next one. System calls are plain too.
    Plain,
    /// An unconditional jump.
    Jump {
        /// Its target.
        to: u64,
    },
    /// A conditional jump.
    Conditional {
        /// Its target.
        to: u64,
    },
    /// A call; continues with the next one when it returns.
    Call {
        /// The callee; none when it is in a register or in memory.
        to: Option<u64>,
    },
    /// A return.
    Return,
    /// An indirect jump: a jump table, a tail call.
    Indirect,
    /// A trap. Bytes that are not an instruction are of this kind.
    Trap,
}

impl Flow {
    /// Whether execution may continue with the next instruction in memory.
    pub(crate) fn goes_on(self) -> bool {
        matches!(self, Flow::Plain | Flow::Conditional { .. } | Flow::Call { .. })
    }

    /// The address that it may jump to.
    pub(crate) fn target(self) -> Option<u64> {
        match self {
            Flow::Jump { to } | Flow::Conditional { to } => Some(to),
            _ => None,
        }
    }
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instruction {
    /// Its address in the file.
    pub address: u64,
    /// Length in bytes; never 0.
    #[schemars(range(min = 1))]
    pub len: u64,
    /// In Intel's or Arm's notation; `.byte 0x06` for other bytes. On riscv64 by its
    /// value only.
    pub text: String,
    /// Its control flow.
    #[serde(flatten)]
    pub kind: Flow,
}

impl Instruction {
    /// The address after it.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.len)
    }
}

/// The text for bytes that are not an instruction.
pub(crate) fn no_instruction(bytes: &[u8], address: u64) -> Instruction {
    let values: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    let text = format!(".byte {}", values.join(", "));
    Instruction { address, len: bytes.len() as u64, text, kind: Flow::Trap }
}
