//! Unwind rules: a row of the call frame information, ready to be applied to get from a location to
//! its caller.

use gimli::{CfaRule, Encoding, Evaluation, EvaluationResult, Expression, Location, RegisterRule, Value};

use crate::registers::Registers;
use crate::window::Window;

/// The limit of operations of one expression; real ones have under twenty.
const OPERATIONS_MAX: u32 = 500;

/// A copy of the upper end of a thread's stack.
#[derive(Clone, Copy)]
pub(crate) struct StackCopy<'a> {
    pub(crate) sp: u64,
    pub(crate) bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// The word at an address.
    pub(crate) fn word(&self, address: u64) -> Result<u64, Failed> {
        let skip = address.checked_sub(self.sp).ok_or(Failed::BelowStack)?;
        let skip = usize::try_from(skip).map_err(|_| Failed::StackEnded)?;
        let word = self.bytes.get(skip..).and_then(|rest| rest.first_chunk());
        word.map(|word| u64::from_le_bytes(*word)).ok_or(Failed::StackEnded)
    }
}

/// Why a rule could not be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The needed data is beyond the copy of the stack.
    StackEnded,
    /// The rule refers to data where none of a caller can be.
    BelowStack,
    /// It needs an unknown register.
    RegisterUnknown,
    /// There is no rule, and no frame pointer.
    NoInformation,
    /// It is invalid, or uses operations that no compiler emits.
    Odd,
}

/// The outcome of a step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnwindStep {
    /// The caller: the registers are now those of the caller.
    Caller,
    /// There is no caller: the outermost function of the thread.
    End,
}

/// How the caller's value of a register is restored.
#[derive(Debug)]
enum Saved {
    Unknown,
    Same,
    At(i64),
    Is(i64),
    In(u16),
    AtResult(Expression<Window>),
    IsResult(Expression<Window>),
}

/// How the caller's stack pointer (the CFA) is computed.
#[derive(Debug)]
enum CfaSource {
    From(u16, i64),
    Result(Expression<Window>),
}

/// A row of call frame information.
#[derive(Debug)]
pub(crate) struct Rule {
    frame: CfaSource,
    saved: Box<[(u16, Saved)]>,
    /// The column of the return address.
    returns: u16,
    encoding: Encoding,
    /// A signal frame, pushed by the kernel: its caller was interrupted and did not call.
    pub(crate) signal: bool,
}

impl Rule {
    /// From a row of gimli. `section` has its expressions.
    pub(crate) fn new<S: gimli::UnwindSection<Window>>(
        section: &S,
        row: &gimli::UnwindTableRow<usize>,
        cie: &gimli::CommonInformationEntry<Window>,
    ) -> gimli::Result<Rule> {
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => CfaSource::From(register.0, *offset),
            CfaRule::Expression(expression) => CfaSource::Result(expression.get(section)?),
        };
        let mut saved = Vec::new();
        for (register, rule) in row.registers() {
            let rule = match rule {
                RegisterRule::SameValue => Saved::Same,
                RegisterRule::Offset(offset) => Saved::At(*offset),
                RegisterRule::ValOffset(offset) => Saved::Is(*offset),
                RegisterRule::Register(register) => Saved::In(register.0),
                RegisterRule::Expression(expression) => Saved::AtResult(expression.get(section)?),
                RegisterRule::ValExpression(expression) => Saved::IsResult(expression.get(section)?),
                _ => Saved::Unknown,
            };
            saved.push((register.0, rule));
        }
        Ok(Rule {
            frame,
            saved: saved.into(),
            returns: cie.return_address_register().0,
            encoding: cie.encoding(),
            signal: cie.is_signal_trampoline(),
        })
    }

    /// Unwinds to the caller.
    pub(crate) fn apply(
        &self,
        registers: &mut Registers,
        stack: StackCopy<'_>,
    ) -> Result<UnwindStep, Failed> {
        let old = *registers;
        let cfa = match &self.frame {
            CfaSource::From(register, offset) => {
                old.get(*register).ok_or(Failed::RegisterUnknown)?.wrapping_add_signed(*offset)
            }
            CfaSource::Result(expression) => self.evaluate(expression, None, &old, stack)?,
        };
        if !self.signal {
            registers.forget_scratch();
        }
        let mut return_address = if old.arch.links() { old.get(self.returns) } else { None };
        for (register, saved) in &self.saved {
            let value = match saved {
                Saved::Unknown => None,
                Saved::Same => old.get(*register),
                Saved::At(offset) => Some(stack.word(cfa.wrapping_add_signed(*offset))?),
                Saved::Is(offset) => Some(cfa.wrapping_add_signed(*offset)),
                Saved::In(other) => old.get(*other),
                Saved::AtResult(expression) => {
                    Some(stack.word(self.evaluate(expression, Some(cfa), &old, stack)?)?)
                }
                Saved::IsResult(expression) => Some(self.evaluate(expression, Some(cfa), &old, stack)?),
            };
            if *register == self.returns {
                return_address = value;
                if value.is_none() && matches!(saved, Saved::Unknown) {
                    return Ok(UnwindStep::End);
                }
            }
            registers.set(*register, value);
        }
        let sp = registers.sp_number();
        if !self.saved.iter().any(|(register, _)| *register == sp) {
            registers.set(sp, Some(cfa));
        }
        let Some(return_address) = return_address else {
            // On x86_64 no rule for the return address means that there is no caller.
            return if old.arch.links() { Err(Failed::RegisterUnknown) } else { Ok(UnwindStep::End) };
        };
        registers.ip = registers.plain(return_address);
        if old.arch.links() && !self.signal {
            // The call has overwritten it.
            registers.set(self.returns, None);
        }
        Ok(if registers.ip == 0 { UnwindStep::End } else { UnwindStep::Caller })
    }

    /// The value of an expression, with `initial` on its stack.
    fn evaluate(
        &self,
        expression: &Expression<Window>,
        initial: Option<u64>,
        registers: &Registers,
        stack: StackCopy<'_>,
    ) -> Result<u64, Failed> {
        let mut evaluation = Evaluation::new(expression.0.clone(), self.encoding);
        evaluation.set_max_iterations(OPERATIONS_MAX);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let odd = |_| Failed::Odd;
        let mut result = evaluation.evaluate().map_err(odd)?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = registers.get(register.0).ok_or(Failed::RegisterUnknown)?;
                    evaluation.resume_with_register(Value::Generic(value)).map_err(odd)?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(stack.word(address)?)).map_err(odd)?
                }
                _ => return Err(Failed::Odd),
            };
        }
        match evaluation.as_result().last().map(|piece| &piece.location) {
            Some(Location::Address { address }) => Ok(*address),
            _ => Err(Failed::Odd),
        }
    }
}
