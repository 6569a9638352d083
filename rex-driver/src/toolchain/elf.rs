//! Facts read from ELF files: a shared library's soname and the machine it is for.

use std::path::Path;

use object::elf::FileHeader64;
use object::read::elf::FileHeader;
use object::{Endianness, elf};

/// What a shared library says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLibrary {
    /// Its `DT_SONAME`.
    pub soname: String,
    /// The libraries it needs.
    pub needed: Vec<String>,
    /// Whether it is for the processor this program runs on.
    pub native: bool,
}

/// Reads a 64-bit ELF shared library; `None` if the file is not one or has no soname.
pub fn read_shared_library(path: &Path) -> Option<SharedLibrary> {
    let bytes = std::fs::read(path).ok()?;
    parse(&bytes).ok().flatten()
}

fn parse(bytes: &[u8]) -> object::Result<Option<SharedLibrary>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let dynamic = sections.dynamic_table(endian, bytes)?;
    let soname = dynamic.iter().find(|entry| entry.tag == elf::DT_SONAME);
    let Some(soname) = soname else {
        return Ok(None);
    };
    let soname = dynamic.string(soname)?;
    let mut needed = Vec::new();
    for entry in dynamic.iter().filter(|entry| entry.tag == elf::DT_NEEDED) {
        needed.push(String::from_utf8_lossy(dynamic.string(entry)?).into_owned());
    }
    let native = header.e_machine(endian) == native_machine();
    Ok(Some(SharedLibrary {
        soname: String::from_utf8_lossy(soname).into_owned(),
        needed,
        native,
    }))
}

fn native_machine() -> elf::Machine {
    match std::env::consts::ARCH {
        "aarch64" => elf::EM_AARCH64,
        "powerpc64" => elf::EM_PPC64,
        "riscv64" => elf::EM_RISCV,
        _ => elf::EM_X86_64,
    }
}

#[cfg(test)]
pub(crate) mod testing {
    /// The bytes of a 64-bit ELF shared library that has a soname and nothing else.
    pub(crate) fn library(soname: &str) -> Vec<u8> {
        let strings = format!("\0{soname}\0").into_bytes();
        let strings_offset = 64;
        let dynamic_offset = (strings_offset + strings.len()).next_multiple_of(8);
        let sections_offset = dynamic_offset + 32;
        let mut out = b"\x7fELF\x02\x01\x01".to_vec();
        out.resize(16, 0);
        out.extend(3u16.to_le_bytes()); // ET_DYN
        out.extend(super::native_machine().0.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend([0; 16]); // entry and program headers
        out.extend((sections_offset as u64).to_le_bytes());
        out.extend([0; 4]); // flags
        for half in [64u16, 56, 0, 64, 3, 1] {
            out.extend(half.to_le_bytes());
        }
        out.extend(&strings);
        out.resize(dynamic_offset, 0);
        for word in [14u64, 1, 0, 0] {
            out.extend(word.to_le_bytes()); // DT_SONAME, DT_NULL
        }
        out.extend([0; 64]);
        section(&mut out, 3, strings_offset, strings.len(), 0);
        section(&mut out, 6, dynamic_offset, 32, 1);
        out
    }

    fn section(out: &mut Vec<u8>, kind: u32, offset: usize, size: usize, link: u32) {
        out.extend(0u32.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend([0; 16]); // flags and address
        out.extend((offset as u64).to_le_bytes());
        out.extend((size as u64).to_le_bytes());
        out.extend(link.to_le_bytes());
        out.extend([0; 4]); // info
        out.extend(1u64.to_le_bytes());
        out.extend(16u64.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soname_is_read() {
        let library = parse(&testing::library("liba.so.1")).unwrap().unwrap();
        assert_eq!(
            library,
            SharedLibrary {
                soname: "liba.so.1".into(),
                needed: Vec::new(),
                native: true
            }
        );
    }

    #[test]
    fn other_files_have_none() {
        assert!(parse(b"INPUT(libomp.so)").is_err());
        assert!(parse(&testing::library("x")[..100]).is_err());
    }
}
