//! Prints sample profiles: `cargo run -p dwell-report --example flame -- WIDTH [plain] [ascii]
//! [apart] [NAME…]`, or one of them in another form: `… -- folded|firefox|speedscope NAME`.
// A development aid with its own `main`, not part of the crate.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

#[path = "../tests/it/profiles/mod.rs"]
mod profiles;

use dwell_report::Look;
use dwell_report::profile::{
    FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, firefox, flame, folded, speedscope,
};
use model::Seen;
use model::recording::Host;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let said = |word: &str| words.iter().any(|other| other == word);
    let width = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100);
    let look = Look { width, colour: !said("plain"), unicode: !said("ascii"), height: Look::HEIGHT };
    let options = FlameOptions { apart: said("apart"), idle: said("idle"), ..FlameOptions::new(look) };
    let host = Host {
        name: "build-1".into(),
        kernel: "6.18.5".into(),
        arch: "x86_64".into(),
        cpus: 2,
        memory_bytes: Seen::Value(8 << 30),
        virtualisation: Seen::Absent,
    };
    let all = profiles::all();
    let named = all.iter().any(|(name, _)| said(name));
    for (name, profile) in all.iter().filter(|(name, _)| !named || said(name)) {
        let command = [format!("./{name}"), "--all".to_owned()];
        let wall_ns = profile.moments.last().map_or(0, |moment| moment.at_ns);
        let about =
            ProfileMetadata { command: &command, started_at_unix_s: 1_795_171_653, host: &host, wall_ns };
        match () {
            () if said("folded") => {
                print!("{}", folded(profile, FoldedOptions { part: FoldedTime::All, threads: false }))
            }
            () if said("firefox") => print!("{}", firefox(profile, &about)),
            () if said("speedscope") => print!("{}", speedscope(profile, &about)),
            () => println!("{}", flame(profile, &options)),
        }
    }
}
