//! Loops with exactly known instructions, in assembly, for each architecture. They use only
//! registers and their arguments.
#![allow(unsafe_code)]

use std::arch::asm;

/// Operations in one iteration of the chains below.
const UNROLLED: u64 = 32;
/// Bytes in one iteration of [`read`].
pub const READ_BYTES: usize = 256;

/// Repeats an instruction 32 times.
macro_rules! times_32 {
    ($one:literal) => {
        concat!(
            $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n",
            $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n",
            $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n",
            $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one, "\n", $one
        )
    };
}

/// A chain of one instruction on two registers; each depends on the one before.
macro_rules! chain {
    ($(#[$doc:meta])* $name:ident, $x86_64:literal, $aarch64:literal, $riscv64:literal) => {
        $(#[$doc])*
        #[inline(never)]
        pub fn $name(count: u64) -> u64 {
            let done = count.div_ceil(UNROLLED) * UNROLLED;
            if done == 0 {
                return 0;
            }
            // SAFETY: registers only.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                asm!(
                    "2:", times_32!($x86_64), "dec {turns}", "jnz 2b",
                    a = inout(reg) 1_u64 => _,
                    b = in(reg) 3_u64,
                    turns = inout(reg) done / UNROLLED => _,
                    options(nomem, nostack)
                );
                #[cfg(target_arch = "aarch64")]
                asm!(
                    "2:", times_32!($aarch64), "subs {turns}, {turns}, #1", "b.ne 2b",
                    a = inout(reg) 1_u64 => _,
                    b = in(reg) 3_u64,
                    turns = inout(reg) done / UNROLLED => _,
                    options(nomem, nostack)
                );
                #[cfg(target_arch = "riscv64")]
                asm!(
                    "2:", times_32!($riscv64), "addi {turns}, {turns}, -1", "bnez {turns}, 2b",
                    a = inout(reg) 1_u64 => _,
                    b = in(reg) 3_u64,
                    turns = inout(reg) done / UNROLLED => _,
                    options(nomem, nostack)
                );
            }
            done
        }
    };
}

chain!(
    /// At least `count` dependent exclusive-ors; returns their number. One cycle each on every
    /// current core.
    xors, "xor {a}, {b}", "eor {a}, {a}, {b}", "xor {a}, {a}, {b}"
);
chain!(
    /// At least `count` dependent additions; returns their number. Of two registers: some cores add
    /// a constant during register renaming, in no time.
    adds, "add {a}, {b}", "add {a}, {a}, {b}", "add {a}, {a}, {b}"
);
chain!(
    /// At least `count` dependent multiplications; returns their number.
    multiplications, "imul {a}, {b}", "mul {a}, {a}, {b}", "mul {a}, {a}, {b}"
);

/// Branches on the lowest bit of each byte: past one addition where it is 0.
#[inline(never)]
pub fn branches(pattern: &[u8]) {
    if pattern.is_empty() {
        return;
    }
    // SAFETY: reads the bytes of the slice, first to last, and touches registers.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "2:",
            "movzx {byte:e}, byte ptr [{at}]",
            "inc {at}",
            "test {byte:e}, 1",
            "jz 3f",
            "add {ones}, 1",
            "3:",
            "dec {left}",
            "jnz 2b",
            at = inout(reg) pattern.as_ptr() => _,
            left = inout(reg) pattern.len() => _,
            ones = inout(reg) 0_u64 => _,
            byte = out(reg) _,
            options(nostack, readonly)
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "2:",
            "ldrb {byte:w}, [{at}], #1",
            "tbz {byte:w}, #0, 3f",
            "add {ones}, {ones}, #1",
            "3:",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            at = inout(reg) pattern.as_ptr() => _,
            left = inout(reg) pattern.len() => _,
            ones = inout(reg) 0_u64 => _,
            byte = out(reg) _,
            options(nostack, readonly)
        );
        #[cfg(target_arch = "riscv64")]
        asm!(
            "2:",
            "lbu {byte}, 0({at})",
            "addi {at}, {at}, 1",
            "andi {byte}, {byte}, 1",
            "beqz {byte}, 3f",
            "addi {ones}, {ones}, 1",
            "3:",
            "addi {left}, {left}, -1",
            "bnez {left}, 2b",
            at = inout(reg) pattern.as_ptr() => _,
            left = inout(reg) pattern.len() => _,
            ones = inout(reg) 0_u64 => _,
            byte = out(reg) _,
            options(nostack, readonly)
        );
    }
}

/// How many bytes one load of [`read`] takes on this CPU.
pub fn read_width_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    return if std::arch::is_x86_feature_detected!("avx") { 32 } else { 16 };
    #[cfg(target_arch = "aarch64")]
    return 16;
    #[cfg(target_arch = "riscv64")]
    return 8;
}

/// Reads the slice from first to last, [`READ_BYTES`] at a turn; what is left beyond whole turns is
/// not read.
#[inline(never)]
pub fn read(bytes: &[u8]) {
    let turns = bytes.len() / READ_BYTES;
    if turns == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads whole turns of the slice and touches registers that a call may change;
    // `vmovdqu` of `ymm` registers only where the CPU and the kernel have AVX.
    unsafe {
        if read_width_bytes() == 32 {
            asm!(
                "2:",
                "vmovdqu ymm0, [{at}]", "vmovdqu ymm1, [{at} + 32]",
                "vmovdqu ymm2, [{at} + 64]", "vmovdqu ymm3, [{at} + 96]",
                "vmovdqu ymm4, [{at} + 128]", "vmovdqu ymm5, [{at} + 160]",
                "vmovdqu ymm6, [{at} + 192]", "vmovdqu ymm7, [{at} + 224]",
                "add {at}, 256",
                "dec {turns}",
                "jnz 2b",
                "vzeroupper",
                at = inout(reg) bytes.as_ptr() => _,
                turns = inout(reg) turns => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                options(nostack, readonly)
            );
        } else {
            asm!(
                "2:",
                "movups xmm0, [{at}]", "movups xmm1, [{at} + 16]",
                "movups xmm2, [{at} + 32]", "movups xmm3, [{at} + 48]",
                "movups xmm4, [{at} + 64]", "movups xmm5, [{at} + 80]",
                "movups xmm6, [{at} + 96]", "movups xmm7, [{at} + 112]",
                "movups xmm0, [{at} + 128]", "movups xmm1, [{at} + 144]",
                "movups xmm2, [{at} + 160]", "movups xmm3, [{at} + 176]",
                "movups xmm4, [{at} + 192]", "movups xmm5, [{at} + 208]",
                "movups xmm6, [{at} + 224]", "movups xmm7, [{at} + 240]",
                "add {at}, 256",
                "dec {turns}",
                "jnz 2b",
                at = inout(reg) bytes.as_ptr() => _,
                turns = inout(reg) turns => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                options(nostack, readonly)
            );
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads whole turns of the slice and touches registers that a call may change.
    unsafe {
        asm!(
            "2:",
            "ldp q0, q1, [{at}]", "ldp q2, q3, [{at}, #32]",
            "ldp q4, q5, [{at}, #64]", "ldp q6, q7, [{at}, #96]",
            "ldp q16, q17, [{at}, #128]", "ldp q18, q19, [{at}, #160]",
            "ldp q20, q21, [{at}, #192]", "ldp q22, q23, [{at}, #224]",
            "add {at}, {at}, #256",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            at = inout(reg) bytes.as_ptr() => _,
            turns = inout(reg) turns => _,
            out("v0") _, out("v1") _, out("v2") _, out("v3") _,
            out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            out("v16") _, out("v17") _, out("v18") _, out("v19") _,
            out("v20") _, out("v21") _, out("v22") _, out("v23") _,
            options(nostack, readonly)
        );
    }
    // Without vectors, which not every core has.
    #[cfg(target_arch = "riscv64")]
    // SAFETY: reads whole turns of the slice and touches registers.
    unsafe {
        asm!(
            "2:",
            "ld {a}, 0({at})", "ld {b}, 8({at})", "ld {c}, 16({at})", "ld {d}, 24({at})",
            "ld {a}, 32({at})", "ld {b}, 40({at})", "ld {c}, 48({at})", "ld {d}, 56({at})",
            "ld {a}, 64({at})", "ld {b}, 72({at})", "ld {c}, 80({at})", "ld {d}, 88({at})",
            "ld {a}, 96({at})", "ld {b}, 104({at})", "ld {c}, 112({at})", "ld {d}, 120({at})",
            "ld {a}, 128({at})", "ld {b}, 136({at})", "ld {c}, 144({at})", "ld {d}, 152({at})",
            "ld {a}, 160({at})", "ld {b}, 168({at})", "ld {c}, 176({at})", "ld {d}, 184({at})",
            "ld {a}, 192({at})", "ld {b}, 200({at})", "ld {c}, 208({at})", "ld {d}, 216({at})",
            "ld {a}, 224({at})", "ld {b}, 232({at})", "ld {c}, 240({at})", "ld {d}, 248({at})",
            "addi {at}, {at}, 256",
            "addi {turns}, {turns}, -1",
            "bnez {turns}, 2b",
            at = inout(reg) bytes.as_ptr() => _,
            turns = inout(reg) turns => _,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            options(nostack, readonly)
        );
    }
}
