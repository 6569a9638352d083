//! What the machine has: host compilers, LLVM's offload runtime, device compilers, a GPU.
//!
//! Discovery looks through [`Surroundings`] only, so it can be tested on a folder tree. It decides
//! nothing about how the tools are called; that is [`crate::build`].

pub mod discover;
pub mod elf;
pub mod host;
pub mod nvptx;
pub mod offload;

#[cfg(test)]
pub(crate) mod testing;

use std::fmt;

pub use discover::{Surroundings, Version};
pub use host::{
    Family, HostCompiler, HostCompilerCache, HostCompilers, find_host_compiler,
    find_host_compilers, locate_host_compiler,
};
pub use nvptx::{DeviceCompiler, find_device_compiler, gpu_architecture, has_nvidia_driver};
pub use offload::{
    Carrier, OffloadRequest, OffloadRuntime, SUPPORTED_ABIS, find_liboffload, find_offload_runtime,
};

/// Something needed that the machine does not have: what, where it was looked for, how to get it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// What is missing, for instance `a C compiler`.
    pub what: &'static str,
    /// The places that were looked at, in order.
    pub looked_at: Vec<String>,
    /// Things found on the way that explain the failure.
    pub notes: Vec<String>,
    /// Commands or options that mend it.
    pub remedies: Vec<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what.trim_start_matches("an ").trim_start_matches("a ");
        write!(f, "no {what} found")?;
        let lists = [
            ("looked at", &self.looked_at),
            ("note", &self.notes),
            ("try", &self.remedies),
        ];
        for (label, list) in lists {
            for line in list {
                write!(f, "\n  {label}: {line}")?;
            }
        }
        Ok(())
    }
}

/// Collects what was looked at until something is found or reported missing.
#[derive(Debug)]
pub(crate) struct Search {
    what: &'static str,
    looked_at: Vec<String>,
    notes: Vec<String>,
}

impl Search {
    pub(crate) fn new(what: &'static str) -> Self {
        Self {
            what,
            looked_at: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn looked_at(&mut self, place: String) {
        self.looked_at.push(place);
    }

    pub(crate) fn noted(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(crate) fn missing(self, remedies: &[&str]) -> Missing {
        let remedies = remedies.iter().map(|&remedy| remedy.to_owned()).collect();
        Missing {
            what: self.what,
            looked_at: self.looked_at,
            notes: self.notes,
            remedies,
        }
    }
}
