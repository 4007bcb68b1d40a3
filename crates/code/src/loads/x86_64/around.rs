//! The next address of a load that overwrites the register that its address was made of: a loop
//! makes the next one of what was loaded. Its instructions are followed from the interrupted one
//! around to the load, as far as they only move, scale or add constants.

use super::super::{Extend, Operand};
use super::{Code, number, writes};
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Instructions that are followed at most.
const STEPS_MAX: usize = 64;

/// A larger multiple is no record of an array.
const SCALE_MAX: u64 = 1 << 20;

/// A register as a multiple of what was loaded.
#[derive(Debug, Clone, Copy)]
struct Value {
    scale: u64,
    displacement: i64,
    extend: Extend,
}

const LOADED: Value = Value { scale: 1, displacement: 0, extend: Extend::Whole };

impl Value {
    fn is_as_loaded(self) -> bool {
        self.scale == 1 && self.displacement == 0 && self.extend == Extend::Whole
    }

    fn times(self, by: u64) -> Option<Self> {
        let scale = self.scale.checked_mul(by).filter(|scale| *scale <= SCALE_MAX)?;
        let displacement = self.displacement.checked_mul(by as i64)?;
        Some(Self { scale, displacement, ..self })
    }

    fn plus(self, more: i64) -> Option<Self> {
        Some(Self { displacement: self.displacement.checked_add(more)?, ..self })
    }
}

/// Registers that are known by what was loaded, and all that were written on the way.
struct Way {
    known: Vec<(Register, Value)>,
    written: Vec<Register>,
}

impl Way {
    fn value(&self, register: Register) -> Option<Value> {
        self.known.iter().find(|(known, _)| *known == register.full_register()).map(|(_, value)| *value)
    }

    fn write(&mut self, register: Register, value: Option<Value>) {
        self.written.push(register);
        self.known.retain(|(known, _)| *known != register);
        self.known.extend(value.map(|value| (register, value)));
    }

    fn follow(&mut self, one: &Instruction, written: &[Register]) {
        let value = self.of(one);
        for register in written {
            let is_result = one.op_count() > 0 && one.op0_register().full_register() == *register;
            self.write(*register, value.filter(|_| is_result));
        }
    }

    /// The first operand of an instruction once it is done.
    fn of(&self, one: &Instruction) -> Option<Value> {
        let source = || self.value(one.op1_register());
        let itself = || self.value(one.op0_register()).filter(|_| one.op0_register().is_gpr64());
        let is = |kind: OpKind| one.op_count() == 2 && one.op1_kind() == kind;
        let constant = one.op_count() == 2 && !matches!(one.op1_kind(), OpKind::Register | OpKind::Memory);
        let part = |extend: Extend| {
            source().filter(|value| value.is_as_loaded()).map(|value| Value { extend, ..value })
        };
        match one.mnemonic() {
            Mnemonic::Mov if is(OpKind::Register) && one.op0_register().is_gpr64() => source(),
            Mnemonic::Mov if is(OpKind::Register) && one.op0_register().is_gpr32() => part(Extend::Low),
            Mnemonic::Movsxd if is(OpKind::Register) => part(Extend::LowSigned),
            Mnemonic::Shl if constant => itself()?.times(1_u64.checked_shl(u32::from(one.immediate8()))?),
            Mnemonic::Add if constant => itself()?.plus(one.immediate(1) as i64),
            Mnemonic::Sub if constant => itself()?.plus((one.immediate(1) as i64).checked_neg()?),
            Mnemonic::Lea if one.op0_register().is_gpr64() => {
                let more = one.memory_displacement64() as i64;
                match (one.memory_base(), one.memory_index()) {
                    (base, Register::None) => self.value(base)?.plus(more),
                    (Register::None, index) => {
                        self.value(index)?.times(u64::from(one.memory_index_scale()))?.plus(more)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The address of the load `index` when the loop comes to it again, by the registers at `at`, which
/// stands behind it.
pub(super) fn next(code: &mut Code, index: usize, at: usize) -> Option<Operand> {
    let load = code.all[index];
    let loaded = load.op0_register();
    let is_whole = load.mnemonic() == Mnemonic::Mov && (loaded.is_gpr64() || loaded.is_gpr32());
    let mut way =
        Way { known: vec![(loaded.full_register(), LOADED)], written: vec![loaded.full_register()] };
    is_whole.then_some(())?;
    let mut here = at;
    for _ in 0..STEPS_MAX {
        if here == index {
            return operand(&load, &way);
        }
        let one = *code.all.get(here)?;
        here = match one.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {
                let written = code.written(&one);
                way.follow(&one, &written);
                let back = code.target(&one).filter(|to| *to <= index && index < here);
                back.unwrap_or(here + 1)
            }
            FlowControl::UnconditionalBranch => code.target(&one)?,
            _ => return None,
        };
    }
    None
}

fn operand(load: &Instruction, way: &Way) -> Option<Operand> {
    let (base, index) = (load.memory_base(), load.memory_index());
    let kept = |register: Register| {
        let same = register == Register::None || !way.written.contains(&register.full_register());
        same.then(|| number(register.full_register()))
    };
    let loaded = number(load.op0_register().full_register())?;
    let more = load.memory_displacement64() as i64;
    let (base, value) = match (way.value(base), way.value(index)) {
        (None, Some(value)) => (kept(base)?, value.times(u64::from(load.memory_index_scale()))?),
        (Some(value), None) if index == Register::None => (None, value),
        _ => return None,
    };
    let value = value.plus(more)?;
    Some(Operand {
        base,
        index: Some(loaded),
        extend: value.extend,
        scale: value.scale,
        displacement: value.displacement,
        ..Operand::default()
    })
}

impl Code {
    fn written(&mut self, one: &Instruction) -> Vec<Register> {
        let used = self.info.info(one).used_registers().iter();
        used.filter(|used| writes(used.access())).map(|used| used.register().full_register()).collect()
    }

    fn target(&self, one: &Instruction) -> Option<usize> {
        self.all.binary_search_by_key(&one.near_branch_target(), Instruction::ip).ok()
    }
}
