//! The stack behind every wait.

use crate::support::kit::{c, hold_code};
use crate::support::utf8;

#[test]
fn a_wait_names_the_function_that_waits() {
    let program = c("waits");
    hold_code(&[], &[utf8(&program)], |told, code, claims| {
        let truth = told.truth("waits");
        let kinds = [
            ("sleep", "waits_for_the_clock", "slept"),
            ("lock", "waits_for_the_lock", "locked"),
            ("pipe", "waits_for_the_pipe", "read"),
        ];
        for (reason, function, how_long) in kinds {
            let stack = code.wait(reason);
            let named =
                |name: &str| stack.iter().position(|frame| frame.starts_with(&format!("{name} (waits.c:")));
            let so = named(function).is_some() && named(function) < named("main");
            claims.that(so, format!("the stack of the wait ({reason}) is {stack:?}"));
            let waited = |s: &crate::support::kit::Stack| s.waiting.as_deref() == Some(reason);
            let blocked = code.blocked(|s| waited(s) && s.through(&["main", function]));
            let queued = told.queued("waits");
            claims.waited(&format!("folded time of {function}"), blocked, truth.ns(how_long), queued);
        }
        // Each thread's own functions, and not those of main.
        for function in ["holds_the_lock", "fills_the_pipe"] {
            let blocked = code.blocked(|s| s.through(&[function]) && !s.through(&["main"]));
            claims.that(blocked > 100_000_000, format!("{function} has slept for {blocked} ns"));
        }
        let cut = code.blocked(|s| s.is_cut());
        claims.little("waits whose stack is cut", cut);
    });
}

#[test]
fn a_lock_names_who_let_it_go_and_where() {
    let program = c("waits");
    hold_code(&[], &[utf8(&program), "locks"], |told, _, claims| {
        let truth = told.truth("waits");
        let rows = told.run["waits"].as_array().into_iter().flatten().filter(|row| row["reason"] == "lock");
        let wakers: Vec<_> = rows.filter_map(|row| row["by"].as_array()).flatten().collect();
        for (who, function) in [("late", "lets_go_late"), ("soon", "lets_go_soon")] {
            let there = |waker: &&&serde_json::Value| {
                let place = waker["place"].as_str().unwrap_or_default();
                waker["name"] == who && place.starts_with(&format!("{function} (waits.c:"))
            };
            let Some(waker) = wakers.iter().filter(there).max_by_key(|waker| waker["ns"].as_u64()) else {
                claims
                    .that(false, format!("{who} is not said to have released it in {function}: {wakers:?}"));
                continue;
            };
            let ns = waker["ns"].as_u64().unwrap_or(0);
            let meanwhile = |state: &str| waker["meanwhile"][state].as_u64().unwrap_or(0);
            claims.waited(
                &format!("the time that {who} slept with it"),
                meanwhile("sleep"),
                ns,
                meanwhile("runqueue"),
            );
            let held = format!("the time that {who} held it");
            claims.waited(&held, ns, truth.ns(who), told.queued("waits"));
            let stack = waker["stack"].as_array().map_or(&[][..], Vec::as_slice);
            let named = |name: &str| {
                stack.iter().any(|frame| frame.as_str().is_some_and(|frame| frame.contains(name)))
            };
            claims.that(named("unlock") && named("holds_in_turn"), format!("{who}'s stack is {stack:?}"));
        }
        let said = told.page.replace("\n      ", " ");
        let named = said.split_once("released by late (TID ").map_or("", |(_, named)| named);
        let named = named.split_once(", ").is_some_and(|(tid, named)| {
            tid.parse::<u32>().is_ok() && named.starts_with("5 times; during the waits: sleep ")
        });
        claims.that(named && said.contains("in lets_go_late (waits.c:"), told.page.clone());
    });
}

#[test]
fn many_short_waits_have_stacks_that_add_up() {
    let program = c("waits");
    // On one CPU: between two, most of the time is a hypervisor's wake-ups.
    hold_code(&[], &["taskset", "-c", "0", utf8(&program), "20000"], |told, code, claims| {
        let waits = told.run["waits"].as_array().into_iter().flatten();
        let pipes = waits.filter(|row| row["reason"] == "pipe" && row["call"] == "read");
        let blocked: u64 = pipes.filter_map(|row| row["total_ns"].as_u64()).sum();
        let calls = told.calls("read").0;
        claims
            .that(calls >= 40_000 && blocked > 20_000_000, format!("{calls} reads blocked for {blocked} ns"));
        let serves = code.blocked(|s| s.chain(&["serves", "read"]) && s.through(&["main"]));
        let returns = code.blocked(|s| s.chain(&["returns", "read"]) && s.through(&["main"]));
        let both = serves + returns;
        claims
            .that(both.abs_diff(blocked) * 20 <= blocked, format!("{both} ns folded, {blocked} ns blocked"));
        claims.that(serves * 5 > both && returns * 5 > both, format!("{serves} and {returns} ns"));
        let other = code.blocked(|_| true) - both;
        claims.that(other * 20 <= blocked, format!("{other} ns are of other stacks"));
        // Also on a CPU: a program that switches all the time is no reason to lose its stacks.
        let cut = code.share(|s| s.is_cut());
        claims.that(cut < 0.05, format!("{cut:.3} of the time on a CPU has a stack that is cut"));
    });
}
