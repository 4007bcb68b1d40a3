//! Puts the BPF objects for the target into `OUT_DIR` (`dwell.bpf.o`, `wake.bpf.o`): compiled where
//! there is clang, else the committed ones.
//!
//! `DWELL_BPF=clang` insists on compiling, `DWELL_BPF=prebuilt` on the committed object. A
//! committed object that was made from other sources is refused, since it would disagree with the
//! decoder about the shape of events.

mod bpf_build;

use std::path::{Path, PathBuf};
use std::process::exit;
use std::{env, fs};

#[expect(clippy::print_stderr, reason = "a build script prints what cargo shows")]
fn main() {
    println!("cargo:rerun-if-env-changed=DWELL_BPF");
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=bpf_build.rs");
    println!("cargo:rerun-if-changed=src/sources/bpf");
    println!("cargo:rerun-if-changed=src/spikes");
    let variable = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set: not run by cargo"));
    let wish = env::var("DWELL_BPF").unwrap_or_default();
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    for source in bpf_build::SOURCES {
        let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join(source);
        let object = source.with_extension("o");
        let out = PathBuf::from(variable("OUT_DIR")).join(object.file_name().unwrap_or_default());
        // An empty one is none (`sources/bpf/load.rs`).
        let provided = match bpf_build::define(&arch) {
            Ok(_) => provide(&source, &arch, &wish, &out),
            Err(_) => fs::write(&out, "").map_err(|error| format!("cannot write {}: {error}", out.display())),
        };
        if let Err(error) = provided {
            // Not a panic: it prints clang's message without a backtrace.
            eprintln!("{error}");
            exit(1);
        }
    }
}

fn provide(source: &Path, arch: &str, wish: &str, out: &Path) -> Result<(), String> {
    let clang = bpf_build::find_clang();
    match (wish, clang) {
        ("prebuilt", _) | ("", None) => take_prebuilt(source, arch, out),
        ("clang", None) => {
            Err("DWELL_BPF=clang, and there is no clang 12 or newer\ntry: apt-get install clang".into())
        }
        ("clang", Some(clang)) => bpf_build::compile(&clang, source, arch, out),
        ("", Some(clang)) => bpf_build::compile(&clang, source, arch, out).or_else(|refusal| {
            // A clang that fails counts as none, provided that the committed object is of these
            // sources.
            take_prebuilt(source, arch, out).map_err(|_| refusal.clone())?;
            let said = refusal.lines().find(|line| line.contains("error:")).unwrap_or(&refusal);
            println!("cargo:warning=the committed BPF object is used, since compiling failed: {said}");
            Ok(())
        }),
        (other, _) => Err(format!("DWELL_BPF is {other:?}; it can be clang or prebuilt")),
    }
}

fn take_prebuilt(source: &Path, arch: &str, out: &Path) -> Result<(), String> {
    let object = bpf_build::prebuilt(source).join(format!("{arch}.bpf.o"));
    if bpf_build::noted(source, "digest") != Some(bpf_build::digest(source)?) {
        return Err(format!(
            "the committed BPF objects in {} were not built from these sources\n\
             try: apt-get install clang llvm, then cargo xtask bpf",
            bpf_build::prebuilt(source).display()
        ));
    }
    fs::copy(&object, out).map_err(|error| format!("cannot copy {}: {error}", object.display()))?;
    Ok(())
}
