//! Names of generated things.
//!
//! One place decides them, so the four identities of a kernel (host key, entry, device symbol, launch) cannot drift apart. The scheme is documented in `docs/artifacts.md`.

use smol_str::{SmolStr, format_smolstr};

use rex_syntax::source::Language;

use crate::headers;
use crate::kernel::KernelNames;
use crate::keywords;
use crate::library;
use crate::program::Program;
use crate::symbol::SymbolId;

/// Variables that CUDA declares in device code.
pub const CUDA_VARIABLES: [&str; 5] = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];

/// The suffix of the parameter or temporary that carries a variable's value or address.
pub const ARGUMENT_SUFFIX: &str = "__arg";
/// The parameter that points to the object of a member function.
pub const SELF_NAME: &str = "rex_self";
/// The parameter of a kernel template that is the class of a member function.
pub const CLASS_PARAMETER: &str = "rex_Class";
/// The suffix of the parameter of a kernel template that is the type of a variable.
pub const TYPE_SUFFIX: &str = "__type";
/// Stands for a namespace without a name in qualifiers.
pub const UNNAMED_NAMESPACE: &str = "rex_unnamed";
/// The variable in [`static_storage`].
pub const STATIC_OBJECT: &str = "rex_object";
/// How the name of a struct begins that the user gave no tag.
pub const UNTAGGED_PREFIX: &str = "rex_untagged_";

/// Names of the `ordinal`-th kernel (1-based) of a file.
///
/// `OUT__<ordinal>__<hash of the file's name as given>__<function>__<line>__`, then `kernel__`, `id__`, `omp_offload_entry__` or `body__`.
pub fn kernel_names(ordinal: usize, file: &str, function: &str, line: u32) -> KernelNames {
    let hash = file_hash(file);
    let function = identifier(function);
    let stem = format_smolstr!("OUT__{ordinal}__{hash:08x}__{function}__{line}__");
    KernelNames::new(stem)
}

/// Names of the kernel that constructs a file's variables on a device: the scheme of a region's, without ordinal and line.
pub fn constructors_names(file: &str) -> KernelNames {
    let stem = format_smolstr!("OUT__constructors__{:08x}__", file_hash(file));
    KernelNames::new(stem)
}

/// Name of the entry of a device variable.
pub fn variable_entry_name(device_name: &str) -> SmolStr {
    format_smolstr!(
        "OUT__variable__{}__omp_offload_entry__",
        identifier(device_name)
    )
}

/// Name of the entry that says what the program demands of its devices.
pub const REQUIREMENTS_ENTRY_NAME: &str = "OUT__requirements__omp_offload_entry__";

/// The tag by which the entry of a private static data member finds it.
pub fn private_member(member: &str) -> SmolStr {
    format_smolstr!("OUT__member__{}__", identifier(member))
}

/// The pointer through which device code reaches a variable, on both sides.
///
/// # Source
/// clang, `CGOpenMPRuntime::getAddrOfDeclareTargetVar` (14 to 22).
pub fn reference_pointer(variable: &str) -> SmolStr {
    format_smolstr!("{variable}_decl_tgt_ref_ptr")
}

/// Name of the number of elements in a dimension of `variable`.
pub fn extent(variable: &str, dimension: u8) -> SmolStr {
    format_smolstr!("{variable}__extent{dimension}")
}

/// The declaration of such a number in device code.
pub fn declared_extent(name: &str, value: &str) -> SmolStr {
    format_smolstr!("const unsigned long {name} = {value}")
}

/// Name of the parameter that carries `variable`.
pub fn argument(variable: &str) -> SmolStr {
    format_smolstr!("{variable}{ARGUMENT_SUFFIX}")
}

/// Name of the parameter that carries `variable`, if the pointer behind it has the name [`argument`].
pub fn slot_of(variable: &str) -> SmolStr {
    format_smolstr!("{variable}__slot")
}

/// The device symbol of a variable, as a C++ compiler makes it of [`device_identifier`] and the namespaces around.
///
/// # Source
/// Itanium C++ ABI, 5.1.3: a name of file scope stays as it is, a nested one is `_ZN`, the length and text of each component, `E`.
pub fn device_variable(program: &Program, symbol: SymbolId) -> SmolStr {
    match program.static_members.contains_key(&symbol) {
        true => device_static_member(program, symbol),
        false => mangled(program, symbol, device_identifier(program, symbol)),
    }
}

/// The device symbol of the pointer to a variable.
pub fn device_reference(program: &Program, symbol: SymbolId) -> SmolStr {
    if program.static_members.contains_key(&symbol) {
        return device_static_member(program, symbol);
    }
    let pointer = reference_pointer(&device_identifier(program, symbol));
    mangled(program, symbol, pointer)
}

/// The object of a static data member, inside the function [`static_storage`].
///
/// # Source
/// Itanium C++ ABI, 5.1.6: a variable inside a function is `_ZZ`, the function's encoding, `E`, its own name.
fn device_static_member(program: &Program, symbol: SymbolId) -> SmolStr {
    let function = static_storage(program.symbols[symbol].declared_name());
    // A function has the tags of what it returns, as a variable has those of its type.
    let encoding = mangled(program, symbol, function);
    let encoding = encoding.trim_start_matches("_Z");
    format_smolstr!("_ZZ{encoding}vE{}{STATIC_OBJECT}", STATIC_OBJECT.len())
}

/// What follows the name of an entity whose type has the tag of GCC's new ABI, as `std::string` has.
///
/// # Source
/// Itanium C++ ABI, 5.1.2: `B`, the length and text of the tag; `_GLIBCXX_DEFAULT_ABI_TAG` of libstdc++.
const ABI_TAG: &str = "B5cxx11";

/// The last of a template's parameters in a mangled name.
///
/// # Source
/// Itanium C++ ABI, 5.1.5.9: `T_` is the first, `T0_` the second.
pub fn last_parameter(parameters: &str) -> SmolStr {
    let mut depth = 0i32;
    let commas = parameters.chars().filter(|c| {
        depth += i32::from(matches!(c, '<' | '(')) - i32::from(matches!(c, '>' | ')'));
        depth == 0 && *c == ','
    });
    // Symbols count in base 36; no template has so many.
    match commas.count() {
        0 => "T_".into(),
        n => format_smolstr!("T{}_", n - 1),
    }
}

/// The symbol of an identifier that stands where a variable does.
fn mangled(program: &Program, symbol: SymbolId, identifier: SmolStr) -> SmolStr {
    let qualifier = program.symbols[symbol].qualifier.trim_end_matches("::");
    let tag = match headers::is_of_new_abi(program, program.symbols[symbol].ty) {
        true => ABI_TAG,
        false => "",
    };
    if qualifier.is_empty() {
        return match tag {
            "" => identifier,
            tag => format_smolstr!("_Z{}{identifier}{tag}", identifier.len()),
        };
    }
    let file = program.sources.file(program.unit.file).name();
    let components: String = qualifier
        .split("::")
        .map(|component| match component {
            UNNAMED_NAMESPACE => unnamed_namespace(file),
            named => named.into(),
        })
        .chain([identifier])
        .map(|component| format!("{}{component}", component.len()))
        .collect();
    format_smolstr!("_ZN{components}{tag}E")
}

/// The static member function of the device file that gives the object of a static data member.
pub fn static_accessor(member: &str) -> SmolStr {
    format_smolstr!("rex_static_{member}")
}

/// The static member function that has the object, or the pointer to it, as a variable of its own.
pub fn static_storage(member: &str) -> SmolStr {
    format_smolstr!("rex_storage_{member}")
}

/// The static member function that constructs the object.
pub fn static_constructor(member: &str) -> SmolStr {
    format_smolstr!("rex_construct_{member}")
}

/// The room of a static variable of a function that running code begins.
pub fn static_local(name: &str) -> SmolStr {
    format_smolstr!("{name}__once")
}

/// What gives such a variable its value, where that decides its type.
pub fn static_local_value(name: &str) -> SmolStr {
    format_smolstr!("{name}__value")
}

/// The host's pointer to a variable that device code reaches through one, as it can be named everywhere.
pub fn host_pointer(program: &Program, symbol: SymbolId) -> SmolStr {
    let qualified = program.symbols[symbol].qualified_name();
    match program.static_members.get(&symbol) {
        Some(member) => {
            let own = format_smolstr!(
                "{}::{}",
                member.class_path,
                program.symbols[symbol].declared_name()
            );
            let namespaces = qualified.strip_suffix(&*own).unwrap_or_default();
            reference_pointer(&format!("{namespaces}{}", identifier(&own)))
        }
        None => reference_pointer(&qualified),
    }
}

/// What wraps the `number`-th lambda of a file, to tell its type from all others; `around` are arguments of the templates around it.
pub fn lambda_wrapper(file: &str, number: usize, around: &[SmolStr]) -> SmolStr {
    let around: String = around.iter().map(|it| format!(", {it}")).collect();
    format_smolstr!("rex_lambda<{:#010x}, {number}{around}>", file_hash(file))
}

/// The suffix of a name that is the file's own.
pub fn of_file(file: &str) -> String {
    format!("__{:08x}", file_hash(file))
}

/// The type of a variable that only the compiler knows, where the variable is visible.
pub fn type_of(variable: &str) -> SmolStr {
    format_smolstr!("REX_TYPE_OF({variable})")
}

/// The type of a variable that only the compiler knows, as a parameter of a kernel template.
pub fn deduced_type(variable: &str) -> SmolStr {
    format_smolstr!("{variable}{TYPE_SUFFIX}")
}

/// The variable of a compound literal of C whose address is used, by its place in the file.
pub fn compound_literal(at: rex_syntax::TextSize) -> SmolStr {
    format_smolstr!("rex_compound_{}", u32::from(at))
}

/// What the device file calls a namespace without a name: its members need symbols of their own.
pub fn unnamed_namespace(file: &str) -> SmolStr {
    format_smolstr!("{UNNAMED_NAMESPACE}_{:08x}", file_hash(file))
}

/// The identifier of a variable in the device file: its own name, made unique per file for internal linkage, so that the device code of several files links.
pub fn device_identifier(program: &Program, symbol: SymbolId) -> SmolStr {
    let name = program.symbols[symbol].declared_name();
    if program.is_static(symbol) {
        let file = program.sources.file(program.unit.file).name();
        format_smolstr!("{name}__{:08x}", file_hash(file))
    } else if program.language() == Language::C
        && (keywords::is_name_in_c(&program.unit, name) || library::may_be_declared(name))
    {
        keywords::device_name(name)
    } else {
        name.into()
    }
}

/// The parameter behind a pointer that the body unpacks.
pub fn slot(pointer: &str) -> SmolStr {
    format_smolstr!(
        "{}__slot",
        pointer.strip_suffix(ARGUMENT_SUFFIX).unwrap_or(pointer)
    )
}

/// The name in device code of the type without one that the declaration of a variable defines.
pub fn type_of_variable(variable: &str) -> SmolStr {
    format_smolstr!("rex_type_of_{variable}")
}

/// The form of a function that all threads of a team call together, in sequential code.
pub fn team_form(function: &str) -> SmolStr {
    format_smolstr!("{function}__team")
}

/// The tag of a struct that the user gave none.
pub fn untagged(ordinal: usize) -> SmolStr {
    format_smolstr!("{UNTAGGED_PREFIX}{ordinal}")
}

/// Keeps what an identifier may contain.
pub fn identifier(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// 32-bit FNV-1a: stable across runs, versions and machines.
fn file_hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_identities_share_a_stem() {
        let names = kernel_names(1, "axpy.c", "axpy", 12);
        assert!(
            names.kernel().starts_with("OUT__1__")
                && names.kernel().ends_with("__axpy__12__kernel__")
        );
        assert_eq!(
            names.key().trim_end_matches("id__"),
            names.kernel().trim_end_matches("kernel__")
        );
    }
}
