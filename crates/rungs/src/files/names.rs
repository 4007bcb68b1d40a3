//! What is done by a file's name: opening, asking, making and removing. All of it from the kernel's
//! caches of names and inodes.

use super::site::Site;
use super::{about, rung};
use crate::{Rung, RungDescription};
use std::rc::Rc;

const NAME: &str = "name";

pub(super) fn open(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes: "the directories of a longer path, and a name that is not in the kernel's cache".into(),
        method: "openat and close of an empty file, again and again, by a name in an open directory".into(),
        source: "lmbench's lat_syscall open".into(),
        ..about("open", "opening and closing a file")
    };
    rung(site, about, |made, bench| {
        made.create(NAME).map_err(|error| made.refused("make a file", error))?;
        let samples = bench.sample(|ops| {
            (0..ops)
                .try_for_each(|_| made.open(NAME).map(drop))
                .map_err(|error| made.refused("open a file", error))
        });
        made.remove(NAME).map_err(|error| made.refused("remove a file", error))?;
        samples
    })
}

pub(super) fn stat(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes: "the directories of a longer path, and an inode that must be read from the disk".into(),
        method: "fstatat of an empty file, again and again, by a name in an open directory".into(),
        source: "lmbench's lat_syscall stat".into(),
        ..about("stat", "stat of a file")
    };
    rung(site, about, |made, bench| {
        made.create(NAME).map_err(|error| made.refused("make a file", error))?;
        let samples = bench.sample(|ops| {
            (0..ops)
                .try_for_each(|_| made.stat(NAME))
                .map_err(|error| made.refused("ask for a file's attributes", error))
        });
        made.remove(NAME).map_err(|error| made.refused("remove a file", error))?;
        samples
    })
}

pub(super) fn create_unlink(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes: "getting the change onto the disk, which the kernel does later".into(),
        method: "openat of a new file, close and unlinkat, again and again, in a directory with nothing else in it"
            .into(),
        source: "lmbench's lat_fs, with both in one figure".into(),
        ..about("create-unlink", "creating and unlinking an empty file")
    };
    rung(site, about, |made, bench| {
        bench.sample(|ops| {
            for _ in 0..ops {
                made.create(NAME).map_err(|error| made.refused("make a file", error))?;
                made.remove(NAME).map_err(|error| made.refused("remove a file", error))?;
            }
            Ok(())
        })
    })
}
