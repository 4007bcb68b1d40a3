//! What a sample tells beyond its stack: the load that the thread was at.

use crate::processes::Processes;
use crate::registers::Registers;
use crate::unwind::RawFrame;
use model::loads::SampledLoad;

impl Processes {
    /// The load that a thread was at, which was interrupted in user mode with these registers;
    /// `frame` is its innermost. None where the code cannot be read, as that of a JIT.
    pub fn load(&mut self, frame: RawFrame, registers: &Registers) -> Option<SampledLoad> {
        let Processes { files, loads, .. } = self;
        loads.at((frame.file, frame.address), files, registers)
    }
}
