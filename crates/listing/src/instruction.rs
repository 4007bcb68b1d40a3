//! Instructions, and where they may lead. Decoding is left to `disassemble`.

/// Where the next instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// After this one. System calls are plain too.
    Plain,
    /// Elsewhere.
    Jump {
        /// Its address.
        to: u64,
    },
    /// Elsewhere or after this one.
    Conditional {
        /// The address elsewhere.
        to: u64,
    },
    /// After this one, once what is called has returned.
    Call {
        /// What is called; none when a register or memory says it.
        to: Option<u64>,
    },
    /// In the caller.
    Return,
    /// Where a register or memory says: a jump table, a tail call.
    Indirect,
    /// Nowhere: the program is stopped here. Bytes that are no instruction are of this kind.
    Trap,
}

impl Kind {
    /// Whether what follows in memory follows in time.
    pub(crate) fn goes_on(self) -> bool {
        matches!(self, Kind::Plain | Kind::Conditional { .. } | Kind::Call { .. })
    }

    /// The address that it may jump to.
    pub(crate) fn target(self) -> Option<u64> {
        match self {
            Kind::Jump { to } | Kind::Conditional { to } => Some(to),
            _ => None,
        }
    }
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is, as its file counts.
    pub address: u64,
    /// In bytes; never 0.
    pub len: u64,
    /// In Intel's or Arm's notation; `.byte 0x06` for what is none.
    pub text: String,
    /// Where it leads.
    pub kind: Kind,
}

impl Instruction {
    /// The address after it.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.len)
    }
}

/// What is shown for bytes that are no instruction.
pub(crate) fn no_instruction(bytes: &[u8], address: u64) -> Instruction {
    let values: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    let text = format!(".byte {}", values.join(", "));
    Instruction { address, len: bytes.len() as u64, text, kind: Kind::Trap }
}
