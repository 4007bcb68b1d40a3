//! Listings of hand-made machine code.

use super::*;
use ::listing::{AddressSamples, ExecutionCounts, Subject, disassemble};
use model::Arch;
use std::collections::BTreeMap;

/// `mov ecx, 5; again: dec ecx; jne again; ret; nop; nop; ret`.
const CODE: &[u8] = &[0xb9, 5, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3, 0x90, 0x90, 0xc3];

fn page(samples: &[(u64, u64)], executions: Option<&[(u64, u64)]>, look: Look) -> String {
    let samples: BTreeMap<u64, AddressSamples> =
        samples.iter().map(|(at, count)| (*at, AddressSamples { ns: count * 10, count: *count })).collect();
    let line = |line, text: &str| SourceLine { file: "/src/f.c".into(), line, text: Some(text.into()) };
    let lines = BTreeMap::from([
        (0x100, line(7, "int i = 5;")),
        (0x105, line(8, "\twhile (--i);")),
        (0x109, line(9, "}")),
    ]);
    let counts = executions.map(|executions| ExecutionCounts {
        executions: executions.iter().copied().collect(),
        partial: false,
    });
    let subject =
        Subject { name: "f\x1b[2J".into(), module: "a.out".into(), program_ns: 4000, program_samples: 400 };
    let code = disassemble(CODE, 0x100, Arch::X86_64);
    listing(&::listing::listing(subject, &code, &samples, &lines, counts.as_ref()), look)
}

const LOOK: Look = Look::PLAIN;

#[test]
fn the_hottest_block_is_marked_and_cold_ones_are_folded() {
    let page = page(&[(0x105, 60), (0x107, 140)], None, LOOK);
    let expected = "\
f\\x1b[2J in a.out: 50 % (45–55 %) of the program's CPU time, 200 samples
           share (95 %)       instruction
                         … 1 instruction, no samples
██████  100 %  98–100 %  block 105 → 105, 109  hottest
                         f.c:8      while (--i);
█▊       30 %   24–37 %  105  dec     ecx
████▎    70 %   63–76 %  107  jne     0x105
                         … 4 instructions, no samples

skid: a sample has the address of the next instruction, so the time of a slow instruction is shown
  at the one after it (of a jump, at its target); blocks are more reliable
";
    assert_eq!(page, expected, "\n{page}");
}

#[test]
fn blocks_have_exact_executions() {
    let executions = [(0x100, 1), (0x105, 5000), (0x107, 5000), (0x109, 1)];
    let page = page(&[], Some(&executions), LOOK);
    let expected = "\
f\\x1b[2J in a.out: 0 % (0–<1 %) of the program's CPU time, 10,002 instructions executed
executed       instruction
       1  block 100 → 105
          f.c:7  int i = 5;
          100  mov     ecx, 5
   5,000  block 105 → 105, 109  hottest
          f.c:8      while (--i);
          105  dec     ecx
          107  jne     0x105
       1  block 109
          f.c:9  }
          109  ret
          … 3 instructions, never executed
";
    assert_eq!(page, expected, "\n{page}");
}

#[test]
fn every_line_fits_its_page_in_ascii_too() {
    for width in [40, 52, 60, 72, 100] {
        let look = Look { width, colour: false, unicode: false, height: Look::HEIGHT };
        let page = page(&[(0x100, 3), (0x105, 60), (0x107, 140)], Some(&[(0x100, 1)]), look);
        assert!(page.is_ascii());
        assert!(page.lines().all(|line| line.len() <= usize::from(width)), "{width}\n{page}");
        assert!(page.contains("dec "), "{width}\n{page}");
    }
}
