//! A stable textual dump of a program, facet by facet. Tests of passes compare it before and after.

use std::fmt::Write;

use crate::facet::Facet;
use crate::map::MapOwner;
use crate::program::Program;
use crate::region::{CapturedObject, Transport};

/// The dump of the given facets.
pub fn dump(program: &Program, facets: Facet) -> String {
    let mut out = String::new();
    for facet in facets.iter() {
        let text = dump_facet(program, facet);
        if !text.is_empty() {
            let _ = writeln!(out, "{}:", facet.name());
            for line in text.lines() {
                let _ = writeln!(out, "  {line}");
            }
        }
    }
    out
}

/// The name of a captured object.
pub fn object_name(program: &Program, object: CapturedObject) -> String {
    match object {
        CapturedObject::Variable(symbol) => program.name(symbol).to_string(),
        CapturedObject::This => "this".to_string(),
        CapturedObject::Extent(symbol, dimension) => {
            crate::namer::extent(program.name(symbol), dimension).to_string()
        }
    }
}

fn dump_facet(program: &Program, facet: Facet) -> String {
    let mut out = String::new();
    match facet {
        Facet::ITEMS => {
            for (_, function) in program.functions.iter() {
                let _ = writeln!(
                    out,
                    "function {}{}",
                    function.name,
                    if function.is_main { " (main)" } else { "" }
                );
            }
            for (symbol, storage) in &program.declare_target {
                let _ = writeln!(out, "declare target {} {storage:?}", program.name(*symbol));
            }
        }
        Facet::TYPES => {
            let _ = writeln!(
                out,
                "{} types, {} symbols",
                program.types.len(),
                program.symbols.len()
            );
        }
        Facet::REGIONS => {
            for (id, construct) in program.constructs.iter() {
                let words: Vec<&str> = construct
                    .leaves
                    .iter()
                    .map(|leaf| leaf.spelling())
                    .collect();
                let _ = writeln!(
                    out,
                    "construct{} {} at {:?}{}",
                    id.into_raw().into_u32(),
                    words.join(" "),
                    construct.range,
                    construct.nest.map_or(String::new(), |nest| format!(
                        ", {} loops",
                        program.nests[nest].loops.len()
                    ))
                );
            }
            for (id, data) in program.data_constructs.iter() {
                let _ = writeln!(
                    out,
                    "data{} {:?} of {} items",
                    id.into_raw().into_u32(),
                    data.kind,
                    data.maps.len()
                );
            }
        }
        Facet::CAPTURES => {
            for (id, region) in program.regions.iter() {
                let _ = writeln!(out, "region{}", id.into_raw().into_u32());
                for capture in &region.captures {
                    let _ = writeln!(
                        out,
                        "  {}: {} by {}{}{}",
                        object_name(program, capture.object),
                        program.types.spell(capture.ty),
                        transport_word(&capture.transport),
                        if capture.is_implicit {
                            ", implicit"
                        } else {
                            ""
                        },
                        if capture.may_be_written {
                            ", written"
                        } else {
                            ""
                        }
                    );
                }
            }
        }
        Facet::KERNELS => {
            for (_, kernel) in program.kernels.iter() {
                let _ = writeln!(out, "{} {:?}", kernel.names.kernel(), kernel.threading);
                for parameter in &kernel.parameters {
                    let _ = writeln!(out, "  parameter {} {:?}", parameter.name, parameter.ty);
                }
                for line in &kernel.prologue {
                    let _ = writeln!(out, "  {line:?}");
                }
                let _ = writeln!(out, "  {:?}", kernel.body);
            }
        }
        Facet::LAUNCHES => {
            for (_, launch) in program.launches.iter() {
                let _ = writeln!(
                    out,
                    "{} teams {:?} threads {:?} trips {:?}",
                    program.kernels[launch.kernel].names.kernel(),
                    launch.teams,
                    launch.threads,
                    launch.trips
                );
            }
        }
        Facet::MAP_ARRAYS => {
            for (_, arrays) in program.map_arrays.iter() {
                let owner = match arrays.owner {
                    MapOwner::Launch(region) => {
                        format!("launch of region{}", region.into_raw().into_u32())
                    }
                    MapOwner::Data(data) => format!("data{}", data.into_raw().into_u32()),
                };
                let _ = writeln!(out, "{owner}");
                for entry in &arrays.entries {
                    let _ = writeln!(out, "  {:#x} {}", entry.type_bits(), entry.name);
                }
            }
        }
        Facet::DEVICE_CODE => {
            for function in &program.device_code.functions {
                let _ = writeln!(
                    out,
                    "function {}, {} replacements",
                    program.functions[function.function].name,
                    function.body.replacements.len()
                );
            }
            for function in &program.device_code.host_members {
                let name = &program.functions[*function].name;
                let _ = writeln!(out, "function {name} of the host");
            }
            for value in &program.device_code.host_values {
                let _ = writeln!(out, "value {} of the host", program.text(*value));
            }
            for name in &program.device_code.external_functions {
                let _ = writeln!(out, "function {name} of another file");
            }
            let begun = &program.device_code.begun_members;
            for symbol in program.device_code.static_locals.iter().chain(begun) {
                let _ = writeln!(
                    out,
                    "static variable {} begun by code",
                    program.name(*symbol)
                );
            }
            for (symbol, storage) in &program.device_code.variables {
                let _ = writeln!(out, "variable {} {storage:?}", program.name(*symbol));
            }
        }
        Facet::ENTRY_TABLE => {
            for entry in &program.entries {
                let _ = writeln!(out, "{}", entry.name);
            }
        }
        Facet::INIT => {
            if let Some(init) = program.lifecycle.init {
                let _ = writeln!(out, "rex_offload_init at {:?}", init.at);
            }
        }
        Facet::FINI => {
            let _ = writeln!(out, "{:?}", program.lifecycle.fini);
        }
        _ => {}
    }
    out
}

fn transport_word(transport: &Transport) -> &'static str {
    match transport {
        Transport::Literal => "literal",
        Transport::Copy => "copy",
        Transport::Storage => "storage",
        Transport::Pointee => "pointee",
        Transport::DevicePointer => "device pointer",
        Transport::DeviceAddress => "device address",
        Transport::Private => "private",
        Transport::ByCategory => "category",
        Transport::CopyByCategory => "copy by category",
    }
}
