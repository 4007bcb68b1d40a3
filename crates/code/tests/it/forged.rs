//! Debug information that a few bytes of a file unfold to, without end.

use std::time::Duration;

use crate::support::Bench;
use dwell_code::{Processes, RawFrame};

/// The code that the debug information is about, at its fixed address.
const CODE: &str = r#"
 .section .debug_info,"",@progbits
 .long .Linfo_end - .Linfo
.Linfo: .value 4
 .long 0
 .byte 8, 1
 .quad _start, 0x100000
 .long 0
 .asciz "m.c"
 INFO
.Linfo_end:
 .section .debug_abbrev,"",@progbits
 .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0x10, 0x17, 0x03, 0x08, 0, 0
 .byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0x03, 0x08, 0, 0
 .byte 3, 0x1d, 1, 0x11, 1, 0x12, 6, 0x58, 0x0b, 0x59, 0x0b, 0x03, 0x08, 0, 0
 .byte 4, 0x34, 0, 0x49, 0x13, 0, 0
 .byte 5, 0x2e, 0, 0x55, 0x17, 0x03, 0x08, 0, 0
 .byte 0
 .section .debug_line,"",@progbits
 .long .Lline_end - .Lline
.Lline: .value 4
 .long .Lrows - .Lheader
.Lheader: .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
 .byte 0
 .asciz "m.c"
 .byte 0, 0, 0, 0
.Lrows:
 LINE
.Lline_end:
 .text
 .globl _start
_start:
 .cfi_startproc
1: jmp 1b
 .skip 64, 0x90
 .cfi_endproc
"#;

/// At the beginning of `.text`.
const START: u64 = 0x0040_1000;

/// The row of `_start`: line 7 for 32 bytes.
const ROWS: &str = ".byte 0, 9, 2\n .quad _start\n .byte 3, 6, 1, 2, 32, 0, 1, 1\n";

/// Functions at the start of a program with this debug information, which is compressed.
fn at_start(info: &str, line: &str) -> Option<Vec<model::recording::Function>> {
    let bench = Bench::new();
    let assembly = CODE.replace("INFO", info).replace("LINE", line).replace('\n', "\\n").replace('"', "\\\"");
    let source = format!("__asm__(\"{assembly}\");\n");
    let how = ["gcc", "-nostdlib", "-static", "-Wl,-Ttext=0x401000"];
    let program = bench.compiled("forged", &source, &how)?;
    if !bench.tool(&["objcopy", "--compress-debug-sections=zlib", "forged"]) {
        return None;
    }
    let mut processes = Processes::new();
    let file = processes.file(&program).unwrap();
    let place = RawFrame { file, address: START + 2 };
    Some(processes.names(&[place; 20], Duration::from_secs(60)).functions.swap_remove(0))
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
    peak.trim().parse::<u64>().unwrap() << 10
}

#[test]
fn what_is_inlined_a_million_times_into_each_other_is_cut() {
    let function = ".byte 2\n .quad _start, 64\n .asciz \"outer\"\n";
    let inlined = ".rept 1000000\n .byte 3\n .quad _start\n .long 64\n .byte 1, 9\n .asciz \"i\"\n .endr\n";
    let Some(functions) = at_start(&format!("{function}{inlined}"), ROWS) else { return };
    assert_eq!(functions.len(), 64);
    assert_eq!(functions[0].source, Some(("m.c".to_owned(), 7)));
    assert_eq!(functions[63].name.as_deref(), Some("outer"));
    assert_eq!(functions[63].source, Some(("m.c".to_owned(), 9)));
    assert_eq!(functions.iter().filter(|function| function.inlined).count(), 63);
}

#[test]
fn functions_beside_each_other_are_not_within_each_other() {
    let function =
        |name: &str, start: u32| format!(".byte 2\n .quad _start+{start}, 32\n .asciz \"{name}\"\n");
    let inlined =
        ".byte 3\n .quad _start\n .long 8\n .byte 1, 5\n .asciz \"inner\"\n .byte 4\n .long 0\n .byte 0\n";
    let info = format!("{}{inlined}.byte 0\n {}.byte 0\n", function("first", 0), function("second", 32));
    let Some(functions) = at_start(&info, ROWS) else { return };
    let names: Vec<_> = functions.iter().map(|function| function.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["inner", "first"]);
    assert_eq!(functions[1].source, Some(("m.c".to_owned(), 5)));
}

#[test]
fn a_function_whose_ranges_are_cut_off_has_those_before() {
    let ranges = ".section .debug_ranges,\"\",@progbits\n .quad 0, 64\n .section .debug_info\n";
    let info = format!("{ranges}.byte 5\n .long 0\n .asciz \"cut\"\n");
    let Some(functions) = at_start(&info, ROWS) else { return };
    assert_eq!(functions[0].name.as_deref(), Some("cut"));
}

#[test]
fn a_line_table_that_unfolds_to_sixty_million_rows_takes_no_memory() {
    let rows = ".byte 0, 9, 2\n .quad _start\n .fill 60000000, 1, 0x20\n .byte 0, 1, 1\n";
    let Some(functions) = at_start("", rows) else { return };
    assert!(functions[0].source.is_some(), "{functions:?}");
    // Unpacked, the table itself takes 60 MB.
    assert!(peak() < 600 << 20, "{} bytes", peak());
}

#[test]
fn files_that_a_line_table_goes_on_to_define_take_no_memory() {
    // Eight bytes each, the last four of them 0: file "a".
    let rows = format!(".fill 8000000, 8, 0x61030600\n {ROWS}");
    let Some(functions) = at_start("", &rows) else { return };
    assert_eq!(functions[0].source, Some(("m.c".to_owned(), 7)));
    assert!(peak() < 600 << 20, "{} bytes", peak());
}
