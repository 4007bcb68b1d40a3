//! The files that threads wait on: each a number while the program runs, a path at the end.

use crate::keys::FileId;
use model::Seen;
use model::recording::{Device, Object};
use rustc_hash::FxHashMap;

/// Files that are kept apart. A search of a whole disk has millions.
const FILES: usize = 16_384;

/// What files are called.
#[derive(Debug)]
pub(crate) struct Files {
    by_inode: FxHashMap<(u32, u64), FileId>,
    /// Path and device, from the third number on.
    files: Vec<(String, u32)>,
    devices: FxHashMap<u32, String>,
}

impl Files {
    pub(crate) fn new(devices: &[Device]) -> Self {
        let devices = devices.iter().map(|device| (device.dev, device.name.clone())).collect();
        Self { by_inode: FxHashMap::default(), files: Vec::new(), devices }
    }

    /// Takes the path of an inode from now on. Another path than before is another file: inodes are
    /// used again.
    pub(crate) fn observe(&mut self, dev: u32, ino: u64, path: &str) {
        let known = self.by_inode.get(&(dev, ino)).and_then(|file| self.get(*file));
        if known.is_none_or(|(known, _)| known != path) {
            self.add(dev, ino, path);
        }
    }

    fn add(&mut self, dev: u32, ino: u64, path: &str) -> FileId {
        if self.files.len() >= FILES {
            // It may have had a name that is not its own any more.
            self.by_inode.remove(&(dev, ino));
            return FileId::MANY;
        }
        self.files.push((path.to_owned(), dev));
        let file = FileId(self.files.len() as u32 + 1);
        self.by_inode.insert((dev, ino), file);
        file
    }

    /// Which file a call was about.
    pub(crate) fn of(&mut self, object: &Object) -> FileId {
        match object {
            Object::File { dev, ino, name, .. } => match self.by_inode.get(&(*dev, *ino)) {
                Some(file) => *file,
                // Its path was lost, or was not recorded: the last part of it is better than
                // nothing.
                None if *name != Default::default() => self.add(*dev, *ino, &format!("…/{}", name.to_text())),
                None => FileId::UNSEEN,
            },
            _ => FileId::UNSEEN,
        }
    }

    /// The file with this inode.
    pub(crate) fn at(&self, dev: u32, ino: u64) -> FileId {
        let many = if self.files.len() >= FILES { FileId::MANY } else { FileId::UNSEEN };
        self.by_inode.get(&(dev, ino)).copied().unwrap_or(many)
    }

    fn get(&self, file: FileId) -> Option<&(String, u32)> {
        self.files.get((file.0 as usize).checked_sub(2)?)
    }

    /// What a file is called.
    pub(crate) fn path(&self, file: FileId) -> Seen<String> {
        match self.get(file) {
            Some((path, _)) => Seen::Value(path.clone()),
            None if file == FileId::MANY => Seen::unseen("too many different files to track"),
            None => Seen::unseen("the file was not observed"),
        }
    }

    /// The device that a file is on.
    pub(crate) fn device_of(&self, file: FileId) -> Seen<String> {
        match self.get(file) {
            Some((_, dev)) => self.device(*dev),
            None => Seen::unseen("the file was not observed"),
        }
    }

    /// What a device is called.
    pub(crate) fn device(&self, dev: u32) -> Seen<String> {
        match self.devices.get(&dev) {
            Some(name) => Seen::Value(name.clone()),
            None if dev == 0 => Seen::unseen("only the path passed to the call is known"),
            None => Seen::unseen("the device appeared after the start of the recording"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::FileKind;

    fn object(ino: u64) -> Object {
        Object::File { kind: FileKind::Disk, dev: 8 << 20, ino, name: "x".into() }
    }

    #[test]
    fn an_inode_that_is_used_again_is_another_file() {
        let mut files = Files::new(&[Device { dev: 8 << 20, name: "sda".into() }]);
        files.observe(8 << 20, 5, "/a");
        let before = files.of(&object(5));
        files.observe(8 << 20, 5, "/a");
        assert_eq!(files.of(&object(5)), before);
        files.observe(8 << 20, 5, "/b");
        let after = files.of(&object(5));
        assert_eq!(files.path(before), Seen::Value("/a".into()));
        assert_eq!(files.path(after), Seen::Value("/b".into()));
        assert_eq!(files.device_of(after), Seen::Value("sda".into()));
        let untold = files.of(&object(6));
        assert_eq!(files.path(untold), Seen::Value("…/x".into()));
    }

    #[test]
    fn past_the_bound_files_are_one_of_many_and_none_has_anothers_name() {
        let mut files = Files::new(&[]);
        for ino in 0..FILES as u64 {
            files.observe(1, ino, "/x");
        }
        files.observe(1, FILES as u64, "/y");
        files.observe(1, 3, "/z");
        for ino in [FILES as u64, 3] {
            assert_eq!(files.at(1, ino), FileId::MANY);
            assert!(matches!(files.path(files.at(1, ino)), Seen::Unseen(_)));
        }
        assert_eq!(files.path(files.at(1, 4)), Seen::Value("/x".into()));
        assert_eq!(files.by_inode.len(), FILES - 1);
    }
}
