//! Where names come from: stripped files, separate debug files, files that are gone, replaced or in
//! another mount namespace.

use crate::support::kit::{CC, Code, build, built, c, done, hold_code, hold_code_with, source};
use crate::support::{Claims, Told, fresh, utf8};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of a program at a path of its own.
fn copy(of: &Path, name: &str) -> PathBuf {
    let path = fresh(name);
    std::fs::copy(of, &path).expect("the program can be copied");
    path
}

/// The shares of `shares.c`, wherever its names come from.
fn names_shares(told: &Told, code: &Code, claims: &mut Claims) {
    let truth = told.truth("shares");
    for name in ["add_up", "multiply", "divide"] {
        let want = truth.ns(name) as f64 / truth.ns("all") as f64;
        let got = code.share(|s| s.chain(&["main", "outer", "middle", "innermost", name]));
        claims.that((got - want).abs() < 0.08, format!("{name} is {got:.3}, not {want:.3}"));
    }
    let lines = code.lines().into_iter().filter(|l| l.0.ends_with("shares.c"));
    let lines: f64 = lines.map(|l| l.4.share).sum();
    claims.that(lines > 0.9, format!("lines of shares.c are {lines:.3}"));
}

#[test]
fn a_stripped_library_has_its_dynamic_symbols_and_else_its_addresses() {
    let library = build(CC, &[&source("plugin.c")], &["-shared", "-fPIC", "-s"], "libplugin.so");
    let dir = built();
    let program = build(CC, &[&source("plugged.c"), &library], &["-Wl,-rpath", utf8(&dir)], "plugged");
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let exported = code.function("exported_work");
        claims.equal("module", exported.module.as_str(), "libplugin.so");
        claims.that(
            exported.total > 0.9,
            format!("exported_work with what it called is {:.3}", exported.total),
        );
        let hidden = |name: &str| name.starts_with("libplugin.so+0x");
        let called = code.share(|s| hidden(s.leaf()) && s.through(&["main", "exported_work"]));
        claims.that(called > 0.2, format!("the function without a name is {called:.3}"));
        // A row is a function also where it has no name: the share of one is not scattered over its
        // instructions.
        let rows: Vec<_> =
            code.functions().into_iter().filter(|(name, row)| hidden(name) && row.share > 0.01).collect();
        claims.equal("rows of the function without a name", rows.len(), 1);
    });
}

#[test]
fn a_stripped_program_is_not_blamed_on_the_line_that_called_its_main() {
    let program = copy(&c("shares"), "stripped");
    done(Command::new("strip").arg(&program));
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own = code.share(|s| s.leaf().starts_with(&format!("{name}+0x")));
        claims.that(own > 0.9, format!("code of the program is {own:.3}"));
        let cut = code.share(|s| s.is_cut());
        claims.that(cut < 0.05, format!("{cut:.3} could not be followed"));
        // The C library has debug information on some machines; that does not make it the place of
        // the time.
        for (file, line, _, _, row) in code.lines() {
            claims.that(row.share < 0.05, format!("{file}:{line} is given {:.3} of the time", row.share));
        }
    });
    std::fs::remove_file(program).expect("the program can be removed");
}

#[test]
fn a_separate_debug_file_is_found_by_its_link() {
    let program = copy(&c("shares"), "linked");
    let debug = program.with_extension("debug");
    done(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug]));
    done(Command::new("strip").arg(&program));
    done(Command::new("objcopy").arg(format!("--add-gnu-debuglink={}", utf8(&debug))).arg(&program));
    hold_code(&[], &[utf8(&program)], names_shares);
    for path in [program, debug] {
        std::fs::remove_file(path).expect("the files can be removed");
    }
}

#[test]
fn a_separate_debug_file_is_found_by_its_build_id() {
    // An id that no other file has.
    let id = format!("{:08x}{:032x}", 0xd3e1_1000_u32, std::process::id());
    let program = build(CC, &[&source("shares.c")], &[&format!("-Wl,--build-id=0x{id}")], "identified");
    let program = copy(&program, "identified");
    let dir = Path::new("/usr/lib/debug/.build-id").join(&id[..2]);
    let debug = dir.join(format!("{}.debug", &id[2..]));
    std::fs::create_dir_all(&dir).expect("root may write debug files");
    done(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug]));
    done(Command::new("strip").arg(&program));
    hold_code(&[], &[utf8(&program)], names_shares);
    for path in [&program, &debug] {
        std::fs::remove_file(path).expect("the files can be removed");
    }
    let _ = std::fs::remove_dir(dir);
}

#[test]
fn a_program_that_is_deleted_or_replaced_while_it_runs_keeps_its_names() {
    let (program, other) = (c("shares"), c("waits"));
    for replaced in [false, true] {
        let path = fresh("passing");
        let take =
            if replaced { format!("cp {} $0.new && mv $0.new $0", utf8(&other)) } else { "rm $0".into() };
        let script = format!("cp {} $0 && {{ $0 & sleep 0.3; {take}; wait; }}", utf8(&program));
        hold_code(&[], &["sh", "-c", &script, utf8(&path)], names_shares);
        let _ = std::fs::remove_file(path);
    }
}

#[test]
fn a_program_in_another_mount_namespace_is_found_there() {
    let program = c("shares");
    let mount = fresh("mount");
    std::fs::create_dir_all(&mount).expect("a directory in the scratch directory");
    let script = format!("mount -t tmpfs none $0 && cp {} $0/inside && exec $0/inside", utf8(&program));
    hold_code(&[], &["unshare", "-m", "sh", "-c", &script, utf8(&mount)], names_shares);
    // A path that leads to another program outside.
    let (path, decoy) = (fresh("bound"), c("waits"));
    let script = format!("mount --bind {} $0 && exec $0", utf8(&program));
    let bound = || {
        std::fs::copy(&decoy, &path).expect("the program can be copied");
        crate::support::kit::coded(&[], &["unshare", "-m", "sh", "-c", &script, utf8(&path)])
    };
    hold_code_with(bound, names_shares);
    std::fs::remove_dir(mount).expect("the directory is empty outside");
    std::fs::remove_file(path).expect("the program can be removed");
}
