//! How much memory a compilation takes, what the parser allocates included. Linux only; elsewhere nothing is measured.

use std::fs;

/// The memory that the process had before.
pub(crate) struct Start {
    bytes: usize,
}

/// Begins to measure anew.
pub(crate) fn begin() -> Start {
    // 5: the peak becomes what there is now (proc(5)).
    let _ = fs::write("/proc/self/clear_refs", "5");
    Start {
        bytes: bytes("VmRSS:").unwrap_or(0),
    }
}

impl Start {
    /// The most bytes beyond those since then. Memory that an input before has left is not counted again.
    pub(crate) fn growth(&self) -> usize {
        bytes("VmHWM:").unwrap_or(0).saturating_sub(self.bytes)
    }
}

fn bytes(name: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}
