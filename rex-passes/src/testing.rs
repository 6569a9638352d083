//! Tests of passes on C text: the change of the IR dump that one pass makes.

use expect_test::Expect;
use rex_ir::facet::Facet;
use rex_ir::print;
use rex_ir::program::Program;
use rex_syntax::diag::Diagnostics;
use rex_syntax::source::{Language, SourceFile, SourceMap};
use rex_syntax::unit::read_unit;
use similar::{ChangeTag, TextDiff};

use crate::PassManager;
use crate::manager::{Checking, PassObserver, PassReport};
use crate::pass::PassInfo;

/// Builds the program of a C text and runs every pass with full checking.
///
/// # Panics
/// When a pass breaks its declaration: that is what tests are for.
pub fn run_all(source: &str, observer: &mut dyn PassObserver) -> (Program, Diagnostics) {
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new(
        "input.c",
        Language::C,
        source.as_bytes().to_vec(),
    ));
    let mut diagnostics = Diagnostics::new();
    let unit = read_unit(&mut sources, file, None, &mut diagnostics);
    let (mut program, built) = rex_ir::build::build(sources, unit);
    diagnostics.extend(built);
    let manager = PassManager::new(crate::registry()).expect("the built-in passes are ordered");
    manager
        .with_checking(Checking::Everything)
        .run(&mut program, &mut diagnostics, observer)
        .expect("the built-in passes keep their declarations");
    (program, diagnostics)
}

/// Checks what a pass changes: `changed: yes`, then the lines of the dump it adds (`+`) or removes (`-`), then the messages.
pub fn check_pass(pass: &str, source: &str, expect: &Expect) {
    let mut recorder = Recorder {
        pass,
        previous: String::new(),
        result: String::new(),
    };
    let (_, diagnostics) = run_all(source, &mut recorder);
    let mut out = recorder.result;
    for diagnostic in diagnostics.iter() {
        out.push_str(&format!(
            "{}: {}\n",
            diagnostic.code.number(),
            diagnostic.headline
        ));
    }
    expect.assert_eq(&out);
}

struct Recorder<'a> {
    pass: &'a str,
    previous: String,
    result: String,
}

impl PassObserver for Recorder<'_> {
    fn before_passes(&mut self, program: &Program) {
        self.previous = print::dump(program, Facet::all());
    }

    fn after_pass(&mut self, info: &'static PassInfo, program: &Program, report: &PassReport) {
        let dump = print::dump(program, Facet::all());
        if info.name == self.pass {
            self.result = format!("changed: {}\n", if report.changed { "yes" } else { "no" });
            let diff = TextDiff::from_lines(&self.previous, &dump);
            for change in diff.iter_all_changes() {
                let sign = match change.tag() {
                    ChangeTag::Equal => continue,
                    ChangeTag::Insert => '+',
                    ChangeTag::Delete => '-',
                };
                self.result.push(sign);
                self.result.push_str(change.value());
            }
        }
        self.previous = dump;
    }
}
