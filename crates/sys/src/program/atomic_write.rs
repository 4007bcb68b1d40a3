//! Outputs that are written whole or not at all: until the new content is on the disk, what stood
//! there stays, and a dwell that ends before leaves nothing.
//!
//! The content goes to a file of no name in the directory of the target (`O_TMPFILE`), which gets
//! the target's name when it is whole. Where a file system has no such files it is one of a name
//! that nobody can foretell, made when all of the content is there. Only a regular file is replaced
//! so, or made; a pipe, a device and what a link leads to are written over, and so is a file that
//! has other names, attributes of its own, or an owner whom the new one could not have.

use crate::output_file::{self, Caller, give_to_caller, is_trusted, new_mode, others_write, place};
use crate::poll::Blocking;
use crate::signals;
use crate::user;
use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, Stat, accessat, fallocate, fchmod,
    flistxattr, fstat, linkat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::fchown;
use std::path::Path;

/// Permissions that are kept: no rights of the file's own.
const PERMISSIONS: u32 = 0o777;

/// An output that is open, and unchanged so far.
#[derive(Debug)]
pub struct Output(Way);

#[derive(Debug)]
enum Way {
    /// What stands there is written over.
    Over(File),
    /// A new file takes the name.
    Beside(Beside),
}

#[derive(Debug)]
struct Beside {
    /// The directory. Whoever owns one above it can have put another at its path since.
    above: OwnedFd,
    name: OsString,
    /// The file without a name; none where there are no such files.
    file: Option<File>,
    /// The file that is replaced, where there was one.
    old: Option<Stat>,
}

impl Output {
    /// Opens a file to write to.
    ///
    /// # Errors
    /// The system's error, or whose file or link stands there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (above, name) = place(path)?;
        let found = match statat(&above, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Beside::new(above, name, None).map(Way::Beside).map(Self),
            found => found?,
        };
        let file = match output_file::open(path)? {
            (file, None) => file,
            // It was removed since, and made again.
            (_, Some(made)) => {
                made.remove()?;
                return Beside::new(above, name, None).map(Way::Beside).map(Self);
            }
        };
        if !is_plain(&found, &file) {
            return Ok(Self(Way::Over(file)));
        }
        match Beside::new(above, name, Some(found)) {
            Ok(beside) => Ok(Self(Way::Beside(beside))),
            // Its user may write to the file, and not to the directory, or not make one like it.
            Err(error) if may_not(&error) => Ok(Self(Way::Over(file))),
            Err(error) => Err(error),
        }
    }

    /// Writes all of the content, to the disk if it is a file.
    ///
    /// # Errors
    /// The system's error; what stood there is still there, unless it had to be written over and
    /// that failed half-way: then a file is empty, since a part would look like the whole.
    pub fn write(self, content: &[u8]) -> io::Result<()> {
        match self.0 {
            Way::Over(file) => over(file, content),
            Way::Beside(beside) => beside.write(content),
        }
    }
}

impl Beside {
    fn new(above: OwnedFd, name: OsString, old: Option<Stat>) -> io::Result<Self> {
        if fstat(&above)?.st_nlink == 0 {
            // The directory was removed. Some file systems would make a file in it all the same.
            return Err(Errno::NOENT.into());
        }
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = match openat(&above, ".", flags, mode(old.as_ref())) {
            Ok(file) => Some(File::from(file)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                accessat(&above, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
                None
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(file) = &file {
            owned(file, old.as_ref())?;
        }
        Ok(Self { above, name, file, old })
    }

    fn write(mut self, content: &[u8]) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            file.write_all(content)?;
            to_disk(&file)?;
            // From its first name to its last one.
            let _held = signals::hold();
            if self.old.is_none() {
                match link(&file, &self.above, &self.name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) if has_no_link(&error) => return self.write_named(content),
                    linked => return linked.map(|()| self.sync()),
                }
            }
            match self.any_name(|name| link(&file, &self.above, name)) {
                Ok(((), name)) => return self.replace(&name, content),
                Err(error) if has_no_link(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.write_named(content)
    }

    /// The same by a file that has a name from the beginning.
    fn write_named(&self, content: &[u8]) -> io::Result<()> {
        let _held = signals::hold();
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = |name: &OsStr| Ok(File::from(openat(&self.above, name, new, mode(self.old.as_ref()))?));
        let (mut file, name) = self.any_name(made)?;
        let alike = owned(&file, self.old.as_ref());
        let is_alike = alike.is_ok();
        let written = alike.and_then(|()| file.write_all(content)).and_then(|()| to_disk(&file));
        if let Err(error) = written {
            let _ = unlinkat(&self.above, &name, AtFlags::empty());
            return if is_alike || !may_not(&error) { Err(error) } else { self.over(content) };
        }
        self.replace(&name, content)
    }

    /// Does it with a name in the directory that nobody has.
    fn any_name<T>(&self, mut by: impl FnMut(&OsStr) -> io::Result<T>) -> io::Result<(T, OsString)> {
        let mut prefix = OsString::from(".");
        // With what is added, no longer than a name may be.
        prefix.push(OsStr::from_bytes(&self.name.as_bytes()[..self.name.len().min(200)]));
        prefix.push("-");
        let mut builder = tempfile::Builder::new();
        // The names alone are its work: the directory is the open one, whatever is at its path.
        let made = builder.prefix(&prefix).rand_bytes(8).make_in("/", |path| by(name_of(path)?))?;
        let (done, path) = made.keep().map_err(|error| error.error)?;
        Ok((done, name_of(&path)?.to_owned()))
    }

    /// Gives the file of this name the target's name.
    fn replace(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let replaced = self
            .may_replace()
            .and_then(|()| renameat(&self.above, name, &self.above, &self.name).map_err(io::Error::from));
        if let Err(error) = replaced {
            let _ = unlinkat(&self.above, name, AtFlags::empty());
            // Something is mounted there: a file of a container, as a rule.
            if error.kind() == ErrorKind::ResourceBusy {
                return self.over(content);
            }
            return Err(error);
        }
        self.sync();
        Ok(())
    }

    /// Writes over the file of the target's name after all.
    fn over(&self, content: &[u8]) -> io::Result<()> {
        self.may_replace()?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        over(openat(&self.above, &self.name, flags, Mode::empty())?.into(), content)
    }

    /// Whether what stands there by now may go.
    fn may_replace(&self) -> io::Result<()> {
        if !user::is_root() {
            return Ok(());
        }
        let Ok(found) = statat(&self.above, &self.name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let above = fstat(&self.above)?;
        let caller = Caller::of_sudo().map(|caller| caller.uid);
        if others_write(above.st_uid, above.st_mode, caller) && !is_trusted(found.st_uid, caller) {
            let why = format!("user {} has put something there", found.st_uid);
            return Err(io::Error::new(ErrorKind::PermissionDenied, why));
        }
        Ok(())
    }

    /// Also the directory's entry is written back; if that fails, the kernel does it later.
    fn sync(&self) {
        let directory = openat(&self.above, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let _ = directory.map(File::from).map(|directory| directory.sync_all());
    }
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| ErrorKind::InvalidInput.into())
}

/// Whether another file can take the place of this one, and nobody notices.
fn is_plain(found: &Stat, open: &File) -> bool {
    let same = fstat(open).is_ok_and(|open| (open.st_dev, open.st_ino) == (found.st_dev, found.st_ino));
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    // A label comes with the directory.
    let mut names = [0; 1024];
    let attributes = match flistxattr(open, &mut names[..]) {
        Ok(length) => {
            names[..length].split(|byte| *byte == 0).any(|name| !matches!(name, b"" | b"security.selinux"))
        }
        Err(error) => error != Errno::OPNOTSUPP,
    };
    same && is_file && found.st_nlink == 1 && !attributes
}

/// The permissions that a file is made with.
fn mode(old: Option<&Stat>) -> Mode {
    // Until it has its owner it is for nobody else.
    if old.is_some() { Mode::from_raw_mode(0o600) } else { new_mode() }
}

/// Gives a new file the owner and the permissions that it is to have.
fn owned(file: &File, old: Option<&Stat>) -> io::Result<()> {
    let Some(old) = old else {
        give_to_caller(file);
        return Ok(());
    };
    let now = fstat(file)?;
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid) {
        let uid = (now.st_uid != old.st_uid).then_some(old.st_uid);
        fchown(file, uid, Some(old.st_gid))?;
    }
    Ok(fchmod(file, Mode::from_raw_mode(old.st_mode & PERMISSIONS))?)
}

/// Gives a file without a name one, if nothing has it.
fn link(file: &File, above: &OwnedFd, name: &OsStr) -> io::Result<()> {
    // By its descriptor, before Linux 6.10 only with a right; or by its entry in /proc.
    match linkat(file, "", above, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {}
        linked => return Ok(linked?),
    }
    let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, entry, above, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Whether a file without a name cannot have one here.
fn has_no_link(error: &io::Error) -> bool {
    let kinds =
        [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::CrossesDevices, ErrorKind::Unsupported];
    kinds.contains(&error.kind())
}

fn may_not(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Writes over what stands there.
fn over(mut file: File, content: &[u8]) -> io::Result<()> {
    let is_file = file.metadata()?.is_file();
    let length = content.len() as u64;
    if is_file && length > 0 {
        // Whether there is room is asked before anything of it changes.
        let room = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, length);
        if let Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) = room {
            return Err(error.into());
        }
    }
    if !is_file {
        return Blocking(file.as_fd()).write_all(content);
    }
    let written = file.write_all(content);
    let written = written.and_then(|()| file.set_len(length)).and_then(|()| to_disk(&file));
    if written.is_err() {
        let _ = file.set_len(0);
    }
    written
}

/// Writes the file back to the disk: some errors (a quota, a full network file system) come only
/// then.
fn to_disk(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // Files that are not on a disk.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use tempfile::{TempDir, tempdir};

    fn names(top: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(top.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_is_there_when_it_is_whole() {
        let top = tempdir().unwrap();
        let path = top.path().join("new");
        let output = Output::open(&path).unwrap();
        assert_eq!(names(&top), Vec::<String>::new());
        output.write(b"whole").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap().as_slice(), names(&top)),
            (&b"whole"[..], vec!["new".to_owned()])
        );
        if user::is_root() && Caller::of_sudo().is_none() {
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn what_stood_there_stays_until_then_and_keeps_its_permissions() {
        let top = tempdir().unwrap();
        let path = top.path().join("old");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let before = File::open(&path).unwrap();
        let output = Output::open(&path).unwrap();
        assert!(matches!(output.0, Way::Beside(_)));
        assert_eq!(fs::read(&path).unwrap(), b"before");
        output.write(b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(&top)), (&b"new"[..], vec!["old".to_owned()]));
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        assert_eq!(io::read_to_string(before).unwrap(), "before", "it is another file now");
    }

    #[test]
    fn a_file_that_appeared_meanwhile_is_replaced() {
        let top = tempdir().unwrap();
        let path = top.path().join("new");
        let output = Output::open(&path).unwrap();
        fs::write(&path, "of another").unwrap();
        output.write(b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(&top)), (&b"new"[..], vec!["new".to_owned()]));
    }

    #[test]
    fn where_no_file_is_without_a_name_it_has_one_meanwhile() {
        let top = tempdir().unwrap();
        fs::write(top.path().join("old"), "before").unwrap();
        for name in ["old", "new"] {
            let mut output = Output::open(&top.path().join(name)).unwrap();
            let Way::Beside(beside) = &mut output.0 else { panic!("it is replaced") };
            beside.file = None;
            output.write(b"after").unwrap();
            assert_eq!(fs::read(top.path().join(name)).unwrap(), b"after");
        }
        assert_eq!(names(&top), ["new", "old"]);
    }

    #[test]
    fn what_has_other_names_is_written_over() {
        let top = tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("file"), "what was there before").unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("file", at("link")).unwrap();
        for (name, content) in [("link", "by the link"), ("hard", "by the name")] {
            Output::open(&at(name)).unwrap().write(content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at("file")).unwrap(), content);
        }
        assert!(at("link").is_symlink());
        assert_eq!(names(&top), ["file", "hard", "link"]);
        // A link to nothing is no name for a new file.
        symlink("none", at("dangling")).unwrap();
        assert_eq!(Output::open(&at("dangling")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_pipe_gets_it() {
        let top = tempdir().unwrap();
        let path = top.path().join("pipe");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path)
        });
        Output::open(&path).unwrap().write(b"content").unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), b"content");
        assert_eq!(names(&top), ["pipe"]);
    }

    #[test]
    fn root_replaces_nothing_that_another_user_put_there_meanwhile() {
        if !user::is_root() {
            return;
        }
        let top = tempdir().unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o1777)).unwrap();
        let path = top.path().join("new");
        let output = Output::open(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        chown(&path, Some(65_534), None).unwrap();
        let error = output.write(b"roots").unwrap_err();
        assert!(error.to_string().contains("user 65534"), "{error}");
        assert_eq!(
            (fs::read(&path).unwrap().as_slice(), names(&top)),
            (&b"theirs"[..], vec!["new".to_owned()])
        );
    }

    #[test]
    fn the_owner_of_what_root_replaces_keeps_it() {
        if !user::is_root() {
            return;
        }
        let top = tempdir().unwrap();
        let path = top.path().join("theirs");
        fs::write(&path, "before").unwrap();
        chown(&path, Some(65_534), Some(65_533)).unwrap();
        Output::open(&path).unwrap().write(b"new").unwrap();
        let found = path.metadata().unwrap();
        assert_eq!((found.uid(), found.gid()), (65_534, 65_533));
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
