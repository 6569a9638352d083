//! `doctor`: what the machine has, and what does not fit together.

use serde::Serialize;

use super::args::{DoctorArgs, DoctorFormat};
use super::{Context, Stop, answer, code};
use crate::json;
use crate::toolchain::nvptx::all_device_compilers;
use crate::toolchain::offload::all_candidates;
use crate::toolchain::{
    DeviceCompiler, Missing, SUPPORTED_ABIS, find_device_compiler, find_host_compilers,
    find_liboffload, find_offload_runtime, gpu_architecture, has_nvidia_driver,
};

#[derive(Serialize)]
struct Report {
    schema: u32,
    findings: Vec<Finding>,
    problems: Vec<String>,
    default_device: &'static str,
    ready: bool,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    found: Option<String>,
}

pub(super) fn run(cx: &Context, args: &DoctorArgs) -> Result<u8, Stop> {
    let report = examine(cx, args);
    let text = match args.format {
        DoctorFormat::Json => json::line(&report),
        DoctorFormat::Text => as_text(&report),
    };
    answer(text.as_bytes())?;
    Ok(if report.ready {
        code::SUCCESS
    } else {
        code::ENVIRONMENT
    })
}

fn examine(cx: &Context, args: &DoctorArgs) -> Report {
    let machine = &cx.surroundings;
    let mut report = Report {
        schema: json::SCHEMA,
        findings: Vec::new(),
        problems: Vec::new(),
        default_device: "host",
        ready: true,
    };
    match find_host_compilers(machine) {
        Ok(host) => {
            for (what, compiler) in [("C compiler", host.c), ("C++ compiler", host.cxx)] {
                let found = format!("{} ({})", compiler.program.display(), compiler.version);
                report.findings.push(Finding {
                    what,
                    found: Some(found),
                });
            }
        }
        Err(missing) => report.is_missing("host compilers", &missing),
    }
    let request = args.tools.offload_request();
    let runtime = find_offload_runtime(machine, &request);
    match &runtime {
        Ok(runtime) => {
            let found = format!("LLVM {} ({})", runtime.abi, runtime.libomptarget.display());
            report.findings.push(Finding {
                what: "offload runtime",
                found: Some(found),
            });
            let libomp = Some(runtime.libomp.display().to_string());
            report.findings.push(Finding {
                what: "host OpenMP runtime",
                found: libomp,
            });
        }
        Err(missing) => report.is_missing("offload runtime", missing),
    }
    for candidate in all_candidates(machine, &request) {
        let is_used = runtime
            .as_ref()
            .is_ok_and(|runtime| runtime.libomptarget == candidate.path);
        if !is_used {
            let supported = if SUPPORTED_ABIS.contains(&candidate.abi) {
                ""
            } else {
                ", not supported"
            };
            let found = format!(
                "LLVM {} ({}){supported}",
                candidate.abi,
                candidate.path.display()
            );
            report.findings.push(Finding {
                what: "other offload runtime",
                found: Some(found),
            });
        }
    }
    let liboffload = find_liboffload(machine, &request).ok();
    report.findings.push(Finding {
        what: "liboffload",
        found: liboffload.map(|library| library.display().to_string()),
    });
    examine_gpu(
        cx,
        args,
        runtime.ok().map(|runtime| runtime.abi),
        &mut report,
    );
    report
}

fn examine_gpu(cx: &Context, args: &DoctorArgs, abi: Option<u32>, report: &mut Report) {
    let machine = &cx.surroundings;
    let cuda = args.tools.cuda.as_ref();
    let has_driver = has_nvidia_driver(machine);
    let gpu = gpu_architecture(machine);
    let found = has_driver.then(|| gpu.unwrap_or_else(|| "architecture unknown".to_owned()));
    report.findings.push(Finding {
        what: "NVIDIA GPU",
        found,
    });
    for compiler in all_device_compilers(machine, cuda) {
        let found = match &compiler {
            DeviceCompiler::Nvcc { nvcc, cuda } => format!("nvcc {cuda} ({})", nvcc.display()),
            DeviceCompiler::Clang {
                clang,
                version,
                ptxas,
                cuda,
            } => format!(
                "clang {version} ({}) with ptxas {cuda} ({})",
                clang.display(),
                ptxas.display()
            ),
        };
        report.findings.push(Finding {
            what: "device compiler",
            found: Some(found),
        });
    }
    match find_device_compiler(machine, cuda, abi) {
        Ok(compiler) => {
            let conflict = abi.and_then(|abi| compiler.conflict_with_abi(abi));
            report.problems.extend(conflict);
        }
        Err(missing) if has_driver => report.is_missing("device compiler", &missing),
        Err(_) => report.findings.push(Finding {
            what: "device compiler",
            found: None,
        }),
    }
    if has_driver {
        report.default_device = "nvptx";
    }
}

impl Report {
    fn is_missing(&mut self, what: &'static str, missing: &Missing) {
        self.findings.push(Finding { what, found: None });
        self.problems.push(missing.to_string());
        self.ready = false;
    }
}

fn as_text(report: &Report) -> String {
    let mut text = String::new();
    for Finding { what, found } in &report.findings {
        text.push_str(&format!(
            "{what:<22} {}\n",
            found.as_deref().unwrap_or("none")
        ));
    }
    text.push_str(&format!(
        "{:<22} {}\n",
        "default device", report.default_device
    ));
    for problem in &report.problems {
        text.push_str(&format!("\nproblem: {problem}\n"));
    }
    text
}
