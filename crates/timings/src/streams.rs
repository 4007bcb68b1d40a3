//! The standard streams of a run.

use crate::catch::{Catch, RunOutput};
use crate::error::Error;
use crate::plan::{Input, Output};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice};
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use sys::output_file;

/// How much a pipe holds, where the kernel allows it: the fewer times dwell has to wake up.
const PIPE_BYTES: usize = 1 << 20;

/// The streams of a run; opened anew for each.
#[derive(Debug)]
pub(crate) struct Streams {
    input: OwnedFd,
    out: Out,
}

#[derive(Debug)]
enum Out {
    /// Standard output and standard error.
    Plain(OwnedFd, OwnedFd),
    Caught(Box<[Catch; 2]>),
    /// The pipe's write end, and the standard error.
    Pipe(OwnedFd, OwnedFd),
}

impl Streams {
    /// Those of a run that is not caught, and the end of its pipe that must be emptied.
    pub(crate) fn open(input: &Input, output: &Output) -> Result<(Self, Option<Drain>), Error> {
        let mut drain = None;
        let out = match output {
            Output::Null => Out::Plain(null()?, null()?),
            Output::Inherit => Out::Plain(own(io::stdout().as_fd())?, own(io::stderr().as_fd())?),
            Output::File(path) => {
                let file = output_file::emptied(path).map_err(|error| at(path, error))?;
                Out::Plain(file.into(), null()?)
            }
            Output::Pipe => {
                let (reader, writer) = io::pipe().map_err(|error| named("a pipe", error))?;
                drain = Some(Drain::new(reader)?);
                Out::Pipe(writer.into(), null()?)
            }
        };
        Ok((Self { input: open_input(input)?, out }, drain))
    }

    /// Those of a run whose output is caught.
    pub(crate) fn caught(input: &Input, searched: bool) -> Result<Self, Error> {
        let catch = || Catch::new(searched).map_err(|error| named("a file for the output", error));
        Ok(Self { input: open_input(input)?, out: Out::Caught(Box::new([catch()?, catch()?])) })
    }

    /// As the run gets them.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        let [out, err] = match &self.out {
            Out::Plain(out, err) | Out::Pipe(out, err) => [out.as_fd(), err.as_fd()],
            Out::Caught(catches) => [catches[0].file().as_fd(), catches[1].file().as_fd()],
        };
        [self.input.as_fd(), out, err]
    }

    /// Lets go of the write end of a pipe, after the run got its own.
    pub(crate) fn let_go(&mut self) -> Result<(), Error> {
        if let Out::Pipe(out, _) = &mut self.out {
            *out = null()?;
        }
        Ok(())
    }

    /// Takes what was printed since, where it is caught.
    pub(crate) fn take(&mut self) -> Result<(), Error> {
        if let Out::Caught(catches) = &mut self.out {
            for catch in catches.iter_mut() {
                catch.take().map_err(|error| named("the output", error))?;
            }
        }
        Ok(())
    }

    /// Whether it is caught.
    pub(crate) fn are_caught(&self) -> bool {
        matches!(self.out, Out::Caught(_))
    }

    /// Standard output and standard error to be searched, each with whether it is whole.
    pub(crate) fn searched(&self) -> Option<[(&[u8], bool); 2]> {
        match &self.out {
            Out::Caught(catches) => Some([catches[0].searched(), catches[1].searched()]),
            _ => None,
        }
    }

    /// What was printed, where it was caught.
    pub(crate) fn output(self) -> Option<RunOutput> {
        match self.out {
            Out::Caught(catches) => {
                let [out, err] = *catches;
                Some(RunOutput { stdout: out.caught(), stderr: err.caught() })
            }
            _ => None,
        }
    }
}

/// The read end of a pipe whose content is thrown away.
#[derive(Debug)]
pub(crate) struct Drain {
    reader: PipeReader,
    null: OwnedFd,
}

impl Drain {
    fn new(reader: PipeReader) -> Result<Self, Error> {
        // An unprivileged user's pipes may be limited: then it is smaller.
        let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
        Ok(Self { reader, null: null()? })
    }

    /// Throws away what is there; false when nothing will come any more.
    pub(crate) fn empty(&self) -> bool {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        loop {
            match splice(&self.reader, None, &self.null, None, PIPE_BYTES, flags) {
                Ok(0) => return false,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }
}

impl AsFd for Drain {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

fn open_input(input: &Input) -> Result<OwnedFd, Error> {
    match input {
        Input::Null => null(),
        Input::File(path) => Ok(File::open(path).map_err(|error| at(path, error))?.into()),
    }
}

fn null() -> Result<OwnedFd, Error> {
    let opened = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, rustix::fs::Mode::empty());
    opened.map_err(|errno| named("/dev/null", errno.into()))
}

fn own(stream: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    stream.try_clone_to_owned().map_err(|error| named("an output of dwell", error))
}

fn at(path: &Path, source: io::Error) -> Error {
    Error::Stream { file: format!("{path:?}"), source }
}

fn named(what: &str, source: io::Error) -> Error {
    Error::Stream { file: what.to_owned(), source }
}
