//! A program with as much debug information as asked, in a minute or so: one unit is compiled,
//! copied under other names of its symbols, and the copies are linked.
//!
//! Its functions are many, small and called in an order without a pattern, so a recording of it has
//! about as many distinct places as samples: the worst case of naming.

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use workshop::shell::{output, program, run};

/// Bytes of debug information to reach.
pub(crate) const DEBUG_BYTES: u64 = 500 << 20;

/// Functions of a unit.
const FUNCTIONS: u32 = 100;

/// The program, made when it is not there already.
///
/// # Errors
/// When there is no compiler or linker, or one fails.
pub(crate) fn make(here: &Path) -> Result<PathBuf> {
    let whole = here.join("big");
    if whole.exists() && debug_bytes(&whole)? >= DEBUG_BYTES {
        return Ok(whole);
    }
    let parts = here.join("big.parts");
    fs::create_dir_all(&parts).with_context(|| format!("cannot create {}", parts.display()))?;
    let unit = parts.join("unit.o");
    compile(&parts.join("unit.c"), &unit_source())?;
    // Strings are shared between the copies when linked, so they count once; the rest is each one's
    // own.
    let each = debug_bytes(&unit)? - debug_strings(&unit)?;
    let copies = DEBUG_BYTES.div_ceil(each);
    copy(&unit, &parts, copies)?;
    compile(&parts.join("main.c"), &main_source(copies))?;
    let list = parts.join("list");
    let objects = (0..copies).map(|n| format!("{}\n", parts.join(format!("u{n}.o")).display()));
    fs::write(&list, objects.collect::<String>())?;
    let listed = format!("@{}", list.display());
    run(program("cc", &["-no-pie", "-o"]).arg(&whole).arg(parts.join("main.o")).arg(listed))?;
    fs::remove_dir_all(&parts).with_context(|| format!("cannot remove {}", parts.display()))?;
    Ok(whole)
}

/// Bytes of the sections that hold debug information.
///
/// # Errors
/// When it cannot be read, or is no ELF file.
pub(crate) fn debug_bytes(path: &Path) -> Result<u64> {
    sections(path, |name| name.starts_with(".debug_"))
}

fn debug_strings(path: &Path) -> Result<u64> {
    sections(path, |name| name == ".debug_str" || name == ".debug_line_str")
}

fn sections(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<u64> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("cannot read {}", path.display()))?;
    let wanted = file.sections().filter(|section| section.name().is_ok_and(&wanted));
    Ok(wanted.map(|section| section.size()).sum())
}

fn compile(source: &Path, text: &str) -> Result<()> {
    fs::write(source, text).with_context(|| format!("cannot write {}", source.display()))?;
    run(program("cc", &["-g", "-O1", "-c", "-o"]).arg(source.with_extension("o")).arg(source))
}

/// Copies with `uN_` before each symbol, as many at once as there are CPUs.
fn copy(unit: &Path, parts: &Path, copies: u64) -> Result<()> {
    let at_once = output(&mut program("nproc", &[]))?.trim().parse().unwrap_or(1);
    let mut running: Vec<Child> = Vec::new();
    for n in 0..copies {
        if running.len() == at_once {
            finish(running.remove(0))?;
        }
        let mut command = program("objcopy", &[&format!("--prefix-symbols=u{n}_")]);
        command.arg(unit).arg(parts.join(format!("u{n}.o")));
        running.push(command.spawn().context("cannot start objcopy")?);
    }
    running.into_iter().try_for_each(finish)
}

fn finish(mut child: Child) -> Result<()> {
    let status = child.wait()?;
    if !status.success() {
        bail!("objcopy ended with {status}");
    }
    Ok(())
}

/// Many types and functions, an inlined one in each; nothing of a library, as its names would be
/// changed too.
fn unit_source() -> String {
    let mut text = String::new();
    for n in 0..FUNCTIONS * 4 {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "enum kind{n} {{ first_{n}, second_{n}, third_{n} }};\n\
             struct part{n} {{ int count_{n}; double weight_{n}; enum kind{n} kind_{n}; struct part{n} *next_{n}; }};\n\
             union either{n} {{ struct part{n} part_{n}; long number_{n}; char text_{n}[24]; }};\n\
             struct whole{n} {{ union either{n} parts_{n}[4]; struct part{n} *(*find_{n})(struct whole{n} *, int); }};\n"
        );
    }
    for n in 0..FUNCTIONS {
        let uses: String =
            (0..4).map(|k| format!("\tstatic struct whole{0} kept{k};\n", n * 4 + k)).collect();
        let _ = write!(
            text,
            "static inline unsigned mix{n}(unsigned x, unsigned by)\n{{\n\
             \tx ^= x << 13;\n\tx ^= x >> 17;\n\tx ^= x << 5;\n\treturn x * {a}u + by;\n}}\n\
             __attribute__((noinline)) unsigned work{n}(unsigned x, int depth);\n\
             __attribute__((noinline)) unsigned work{n}(unsigned x, int depth)\n{{\n{uses}\
             \tfor (int i = 0; i < 40; i++)\n\t\tx = mix{n}(x, {b}u);\n\
             \tkept0.parts_{m}[x & 3].number_{m} = x;\n\
             \tif (depth > 0)\n\t\tx += work{callee}(x, depth - 1);\n\treturn x + (unsigned)sizeof kept1 + (unsigned)sizeof kept2 + (unsigned)sizeof kept3;\n}}\n",
            a = n * 2 + 3,
            b = n * 7 + 1,
            m = n * 4,
            // Only later ones are declared before; the last goes back to the first, which is.
            callee = n.saturating_sub(n * 5 % 11 + 1),
        );
    }
    let table: Vec<String> = (0..FUNCTIONS).map(|n| format!("work{n}")).collect();
    let _ = write!(
        text,
        "unsigned run(unsigned x)\n{{\n\tstatic unsigned (*const all[])(unsigned, int) = {{ {} }};\n\
         \treturn all[x % {FUNCTIONS}](x, 8) + 1;\n}}\n",
        table.join(", ")
    );
    text
}

/// `big MILLISECONDS`: calls into units and functions drawn by chance.
fn main_source(copies: u64) -> String {
    let declared: String = (0..copies).map(|n| format!("unsigned u{n}_run(unsigned);\n")).collect();
    let table: Vec<String> = (0..copies).map(|n| format!("u{n}_run")).collect();
    format!(
        "#include <stdlib.h>\n#include <time.h>\n{declared}\
         static unsigned (*const all[])(unsigned) = {{ {} }};\n\
         static double now(void)\n{{\n\tstruct timespec t;\n\tclock_gettime(CLOCK_MONOTONIC, &t);\n\
         \treturn t.tv_sec + t.tv_nsec * 1e-9;\n}}\n\
         int main(int count, char **words)\n{{\n\
         \tdouble end = now() + (count > 1 ? atof(words[1]) : 2000) * 1e-3;\n\tunsigned x = 1;\n\
         \twhile (now() < end)\n\t\tfor (int i = 0; i < 100; i++) {{\n\
         \t\t\tx = x * 1664525u + 1013904223u;\n\t\t\tx ^= all[(x >> 8) % {copies}](x >> 4) & 1;\n\t\t}}\n\
         \treturn x == 12345;\n}}\n",
        table.join(", ")
    )
}
