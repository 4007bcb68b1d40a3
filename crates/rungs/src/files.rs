//! Files and the disk below them, in the directory that the user names: names, cached pages,
//! flushes, reads and writes of the device, and many small files against a large one.
//!
//! Where nobody names one it is the current directory: that is where programs' own files mostly
//! are, and the temporary directory is memory on many systems, so its figures would not be those of
//! a disk. Everything is written below one made directory (`site`), which goes when the last of
//! these rungs is done.

mod cached;
mod direct;
mod many;
mod names;
mod site;

use crate::bench::Bench;
use crate::{LadderRequest, Rung, RungDescription, RungGroup, Samples, Unmeasured};
use site::{Made, Site};
use std::rc::Rc;

pub(crate) fn rungs(asked: &LadderRequest) -> Vec<Rung> {
    let site = &Rc::new(Site::new(asked.dir.as_deref().unwrap_or(".")));
    let mut rungs = vec![names::open(site), names::stat(site), names::create_unlink(site)];
    rungs.extend([cached::read(site), cached::write(site), cached::fsync(site)]);
    rungs.extend(direct::rungs(site));
    rungs.extend(many::rungs(site));
    rungs
}

/// Whether the rungs could make their files in `dir`.
///
/// # Errors
/// Why not, with what to try.
pub fn can_make_files(dir: &str) -> Result<(), String> {
    match Site::new(dir).made() {
        Ok(_) => Ok(()),
        Err(Unmeasured::Absent(why) | Unmeasured::Unseen(why)) => Err(why),
    }
}

fn about(id: &str, what: &str) -> RungDescription {
    RungDescription {
        needs: "a directory that may be written to (--dir)".into(),
        ..crate::about(id, RungGroup::Files, what)
    }
}

/// A rung that is measured in the made directory, and says where that was.
fn rung(
    site: &Rc<Site>,
    about: RungDescription,
    measure: impl Fn(&Made, &Bench<'_>) -> Result<Samples, Unmeasured> + 'static,
) -> Rung {
    let site = Rc::clone(site);
    let measure = move |bench: &Bench<'_>| {
        let made = site.made()?;
        let mut samples = measure(made, bench)?;
        samples.limits.insert(0, made.said());
        Ok(samples)
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure) }
}
