//! Which code runs and which code waits: stacks, functions, lines and exports of programs whose
//! truth is known.
//!
//! The programs stand in `programs/` and are compiled here. What they say of themselves is compared
//! with the intervals that dwell gives; what needs no clock (which function called which) is
//! claimed without tolerance.

mod foreign;
mod hardship;
mod managed;
mod modules;
mod outputs;
mod peer;
mod waiting;

use crate::support::kit::{self, CC, build, c, hold_code, line_of};
use crate::support::utf8;
use std::path::Path;

#[test]
fn known_shares_come_out_of_functions_without_frame_pointers() {
    let program = c("shares");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        let truth = told.truth("shares");
        for name in ["add_up", "multiply", "divide"] {
            let (row, want) = (code.function(name), truth.ns(name) as f64 / truth.ns("all") as f64);
            let so = row.lo <= want && want <= row.hi;
            claims.that(so, format!("{name} is {want:.3}, not {:.3} to {:.3}", row.lo, row.hi));
            claims.equal(&format!("module of {name}"), row.module.as_str(), "shares");
            claims.equal(&format!("mode of {name}"), row.mode.as_str(), "user");
            let chain = ["main", "outer", "middle", "innermost", name];
            let (called, all) = (code.cpu(|s| s.chain(&chain)), code.cpu(|s| s.through(&[name])));
            claims.equal(&format!("time of {name} below its callers"), called, all);
        }
        for name in ["main", "outer"] {
            let total = code.function(name).total;
            claims.that(total >= 0.97, format!("{name} with what it called is {total:.3}"));
        }
    });
}

#[test]
fn lines_are_those_of_the_loops() {
    let program = c("shares");
    hold_code(&["--lines", "add_up"], &[utf8(&program)], |told, code, claims| {
        for name in ["add_up", "multiply", "divide"] {
            let line = line_of("shares.c", &format!("line of {name}"));
            let mut share = 0.0;
            for (file, at, function, language, row) in code.lines() {
                if function == name {
                    claims.that(file.ends_with("programs/shares.c"), format!("{name} in {file}"));
                    claims.equal("language", language.as_str(), "native");
                    // The loop and its head.
                    claims.that((line - 2..=line + 1).contains(&at), format!("line {at} of {name}"));
                    share += row.share;
                }
            }
            let whole = code.function(name).total;
            claims.that((share - whole).abs() < 0.02, format!("lines of {name}: {share:.3} of {whole:.3}"));
        }
        let shown = told.page.contains("value += value ^ (uint64_t)i;");
        claims.that(shown, "--lines add_up does not show the line's text");
    });
}

fn bench(name: &str) -> std::path::PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench").join(name);
    build(CC, &[&source], &[], name.trim_end_matches(".c"))
}

/// A function of the C library's allocator.
fn allocates(name: &str) -> bool {
    ["malloc", "_int_malloc", "sysmalloc", "calloc", "__libc_malloc", "tcache_get"].contains(&name)
}

#[test]
fn a_list_of_allocated_nodes_is_the_allocators_and_the_clearing_of_pages() {
    let program = bench("nodes.c");
    hold_code(&["--rate", "2999"], &[utf8(&program), "1000000", "10"], |_, code, claims| {
        let main = code.share(|s| s.leaf() == "main");
        let (top, _) = code.functions().first().cloned().unwrap_or_default();
        claims.that(allocates(&top), format!("the top function is {top}"));
        let in_allocator = code.share(|s| s.frames.iter().any(|frame| allocates(kit::bare(frame))));
        claims.that(in_allocator > 0.5, format!("with the faults in it the allocator is {in_allocator:.3}"));
        let faults = code.share(|s| s.chain(&["asm_exc_page_fault", "exc_page_fault"]));
        claims.that(main < 0.3 && main < faults, format!("main is {main:.3}, the faults are {faults:.3}"));
        let clears = code.share(|s| s.leaf().starts_with("clear_page"));
        claims.that(clears > 0.005, format!("the clearing of pages is {clears:.3}"));
        // What is called through the table of the linker has a name as well.
        let nameless = code.functions().into_iter().filter(|(name, _)| name.contains("+0x"));
        let nameless: Vec<_> = nameless.filter(|(_, row)| row.share > 0.005).collect();
        claims.that(nameless.is_empty(), format!("code without a name: {nameless:?}"));
    });
}

#[test]
fn a_list_from_one_block_is_mains_and_the_clearing_of_pages() {
    let program = bench("bump.c");
    hold_code(&["--rate", "2999"], &[utf8(&program), "1000000", "10"], |_, code, claims| {
        let (top, row) = code.functions().first().cloned().unwrap_or_default();
        claims.that(top == "main" || row.mode == "kernel", format!("the top function is {top}"));
        let own = code.share(|s| ["main", "bump"].contains(&s.leaf()));
        let faults = code.share(|s| s.through(&["main", "asm_exc_page_fault"]));
        claims.that(own + faults > 0.75, format!("main is {own:.3} and its faults {faults:.3}"));
        claims.that(own > 0.15 && faults > 0.3, format!("main is {own:.3} and its faults {faults:.3}"));
        let clears = code.share(|s| s.leaf().starts_with("clear_page"));
        claims.that(clears > 0.005, format!("the clearing of pages is {clears:.3}"));
        let allocator = code.share(|s| s.through(&["main", "malloc"]));
        claims.that(allocator == 0.0, format!("an allocator that is not called is {allocator:.3}"));
        // `bump` is inlined, and still seen.
        let inlined = code.share(|s| s.frames.iter().any(|frame| frame == "bump_[i]"));
        claims.that(inlined > 0.0, "the inlined function is not seen");
    });
}

#[test]
fn code_of_the_kernel_in_every_program_has_a_name() {
    let program = c("clocks");
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let row = code.functions().into_iter().find(|(_, row)| row.module == "[vdso]");
        let (name, row) = row.unwrap_or_default();
        claims.that(name.contains("clock_gettime"), format!("the vDSO's function is {name:?}"));
        claims.that(row.share > 0.3, format!("{name} is {:.3}", row.share));
        let chain = code.share(|s| s.leaf() == name && s.through(&["main"]) && !s.is_cut());
        claims.that(chain > row.share - 0.01, format!("{chain:.3} of it is called from main"));
        let nameless = code.share(|s| s.leaf().contains("+0x"));
        claims.that(nameless < 0.005, format!("{nameless:.3} of the time has no name"));
    });
}
