//! Device code inside host objects: the section it lies in, and the records in it.
//!
//! A lowered object has one record in its section. A linker joins the sections of the objects that it
//! links, so a program's section holds the records of exactly those. The section is not loaded when the
//! program runs.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};

/// The section's name.
pub const SECTION: &str = ".rex.device";

const MAGIC: &[u8; 8] = b"REXDEV01";
const ARCH_BYTES: usize = 24;
const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + ARCH_BYTES;

/// What a record's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A relocatable object for the host's processors.
    HostObject,
    /// An object of nvcc with relocatable device code.
    NvccObject,
    /// LLVM bitcode for an NVIDIA GPU.
    Bitcode,
}

/// The device code of one translation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What the bytes are.
    pub form: Form,
    /// The offload runtime's ABI the code was compiled for.
    pub abi: u32,
    /// The GPU architecture; empty for the host's processors.
    pub arch: String,
    /// The code.
    pub code: Vec<u8>,
}

/// Why a section could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the section {SECTION} is damaged at byte {0}")]
pub struct Damaged(pub usize);

impl Record {
    /// The record's bytes in the section.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let form: u32 = match self.form {
            Form::HostObject => 1,
            Form::NvccObject => 2,
            Form::Bitcode => 3,
        };
        bytes.extend(form.to_le_bytes());
        bytes.extend(self.abi.to_le_bytes());
        bytes.extend((self.code.len() as u64).to_le_bytes());
        let mut arch = [0; ARCH_BYTES];
        for (place, byte) in arch.iter_mut().zip(self.arch.bytes()) {
            *place = byte;
        }
        bytes.extend(arch);
        bytes.extend(&self.code);
        bytes
    }
}

/// Reads the records of a section; bytes of zero between them are a linker's padding.
///
/// # Errors
/// [`Damaged`] if something else lies between or a record is cut off.
pub fn records(section: &[u8]) -> Result<Vec<Record>, Damaged> {
    let mut records = Vec::new();
    let mut rest = section;
    loop {
        let n_padding = rest.iter().take_while(|&&byte| byte == 0).count();
        rest = &rest[n_padding..];
        if rest.is_empty() {
            return Ok(records);
        }
        let (record, after) = record(rest).ok_or(Damaged(section.len() - rest.len()))?;
        records.push(record);
        rest = after;
    }
}

fn record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let header = header.strip_prefix(MAGIC)?;
    let word = |at: usize| {
        header
            .get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_le_bytes)
    };
    let form = match word(0)? {
        1 => Form::HostObject,
        2 => Form::NvccObject,
        3 => Form::Bitcode,
        _ => return None,
    };
    let n_bytes = u64::from_le_bytes(header.get(8..16)?.try_into().ok()?);
    let arch = String::from_utf8_lossy(&header[16..])
        .trim_end_matches('\0')
        .to_owned();
    let (code, rest) = rest.split_at_checked(usize::try_from(n_bytes).ok()?)?;
    Some((
        Record {
            form,
            abi: word(4)?,
            arch,
            code: code.to_vec(),
        },
        rest,
    ))
}

/// The device section of an ELF file; `None` if it has none or is something else.
pub fn section_of(file: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (_, section) = sections.section_by_name(endian, SECTION.as_bytes())?;
    section.data(endian, file).ok()
}

/// Whether an object, a library or any member of an archive has device code.
pub fn has_device_code(file: &[u8]) -> bool {
    let Ok(archive) = ArchiveFile::parse(file) else {
        return section_of(file).is_some();
    };
    // A thin archive's members are files of their own: the linker will tell.
    archive.is_thin()
        || archive
            .members()
            .filter_map(|member| member.ok()?.data(file).ok())
            .any(|member| section_of(member).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(arch: &str, code: &[u8]) -> Record {
        Record {
            form: Form::NvccObject,
            abi: 22,
            arch: arch.into(),
            code: code.to_vec(),
        }
    }

    #[test]
    fn records_survive_joining_and_padding() {
        let (first, second) = (sample("sm_90", b"abc"), sample("", b""));
        let mut section = first.to_bytes();
        section.extend([0; 5]);
        section.extend(second.to_bytes());
        assert_eq!(records(&section), Ok(vec![first, second]));
        assert_eq!(records(&[]), Ok(vec![]));
    }

    #[test]
    fn damage_is_reported() {
        let mut section = sample("sm_80", b"abcdef").to_bytes();
        section.pop();
        assert_eq!(records(&section), Err(Damaged(0)));
        assert_eq!(records(b"\0\0junk"), Err(Damaged(2)));
    }
}
