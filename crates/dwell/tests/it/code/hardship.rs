//! Stacks that cannot be followed to their end say so, and those that only look so can be.

use crate::support::kit::{CC, build, c, hold_code, source};
use crate::support::utf8;

#[test]
fn a_stack_that_cannot_be_followed_says_where_it_broke() {
    let program = build(CC, &[&source("lost.c"), &source("lost.s")], &[], "lost");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        let lost = code.function("spins_lost").share;
        claims.that(lost > 0.9, format!("spins_lost is {lost:.3}"));
        let cut = code.share(|s| {
            s.leaf() == "spins_lost" && s.frames[1].starts_with("[cut: ") && s.frames[1].contains("lost")
        });
        claims.that(cut > 0.95 * lost, format!("{cut:.3} of it says where it broke"));
        // Made up callers would be worse than none.
        let called = code.share(|s| s.leaf() == "spins_lost" && s.frames.len() != 3);
        claims.that(called == 0.0, format!("{called:.3} of it has callers that nobody can know"));
        claims.that(told.page.contains("stacks cut short"), "the flame view does not say so");
    });
}

#[test]
fn a_whole_stack_is_not_said_to_be_cut() {
    let program = c("shares");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        // The dynamic linker's first function, and the kernel's work before there is one and after
        // there is any.
        let cut: Vec<_> = code.stacks.iter().filter(|s| s.is_cut()).map(|s| s.frames.join(";")).collect();
        claims.that(cut.is_empty(), format!("{} stacks are cut, such as {:?}", cut.len(), cut.first()));
        claims.that(!told.page.contains("stacks cut short"), "the flame view says that stacks were cut");
    });
}

#[test]
fn a_recursion_deeper_than_any_copy_says_that_the_copy_ended() {
    let program = c("deep");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        let bottom = code.share(|s| s.chain(&["descend", "descend", "descend", "bottom"]));
        claims.that(bottom > 0.9, format!("the recursion is {bottom:.3}"));
        let said = code.share(|s| {
            s.leaf() == "bottom" && s.frames[1].starts_with("[cut: the copied part of the stack ended")
        });
        claims.that(said > 0.95 * bottom, format!("{said:.3} of it says that its copy ended"));
        claims.that(told.page.contains("stacks cut short"), "the flame view does not say so");
    });
}

#[test]
fn a_recursion_of_a_hundred_is_whole() {
    let program = c("deep");
    hold_code(&[], &[utf8(&program), "100"], |_, code, claims| {
        let whole = code.share(|s| {
            let levels = s.frames.iter().filter(|frame| *frame == "descend").count();
            levels == 101 && s.through(&["main", "descend", "bottom"]) && !s.is_cut()
        });
        claims.that(whole > 0.9, format!("{whole:.3} has all of the recursion"));
    });
}

#[test]
fn a_stack_with_pages_that_were_never_touched_is_whole() {
    let program = c("room");
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let whole = code.share(|s| s.chain(&["main", "has_room", "works"]));
        claims.that(
            whole > 0.9,
            format!("{whole:.3} is below main; the rest: {:.3} cut", code.share(|s| s.is_cut())),
        );
    });
}

#[test]
fn a_32_bit_program_is_run_and_what_is_not_known_of_it_is_said() {
    let freestanding = ["-m32", "-O1", "-ffreestanding", "-fno-pie", "-no-pie", "-nostdlib", "-static"];
    let program =
        build(&["cc"], &[&source("old.c")], &[&freestanding[..], &["-fno-stack-protector"]].concat(), "old");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        claims.equal("status", told.code, Some(0));
        let own = code.share(|s| s.frames.iter().any(|f| f.starts_with("old") || f == "works"));
        claims.that(own > 0.9, format!("code of the program is {own:.3}"));
        let named = code.share(|s| s.through(&["_start", "works"]));
        let why =
            |frame: &str| frame.starts_with("[cut: old could not be read: ") && frame.contains("64-bit");
        let said = code.share(|s| why(&s.frames[1]));
        claims.that(named + said > 0.9, format!("{named:.3} has names, {said:.3} says why not"));
        let slept = code.blocked(|s| s.waiting.as_deref() == Some("sleep"));
        claims.near("sleep", slept, 100_000_000);
    });
}
