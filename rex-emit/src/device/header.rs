//! What stands before the first code of the device file, and what gives names of C and of the program their meaning.

use std::collections::BTreeSet;

use rex_ir::headers;
use rex_ir::item::ItemKind;
use rex_ir::kernel::Plan;
use rex_ir::keywords::{self, is_name_in_c};
use rex_ir::library;
use rex_ir::symbol::SymbolKind;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::macros::MacroDef;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};

use super::{Device, body, complex, kernel};
use crate::common::guarded;

/// Words of C that C++ lacks, with what means the same.
const WORDS_OF_C: [(&str, &str); 9] = [
    ("__auto_type", "auto"),
    ("_Alignas", "alignas"),
    ("_Alignof", "alignof"),
    ("_Bool", "bool"),
    ("_Noreturn", ""),
    ("_Static_assert", "static_assert"),
    // Of a header that has it for C only.
    ("noreturn", ""),
    ("register", ""),
    ("restrict", "__restrict__"),
];

/// What C programs and their headers ask for the language's version.
const VERSION_OF_C: &str = "__STDC_VERSION__";

impl<'p> Device<'p> {
    /// Words of C that C++ lacks, once: those that the file has, and all if it has headers of its own, which stand below them.
    pub(super) fn words_of_c(&mut self) {
        if self.has_words || self.program.language() != Language::C {
            return;
        }
        self.has_words = true;
        let source = self.program.source();
        let whole = TextRange::up_to(TextSize::of(source));
        let mut items = self.program.items.iter();
        let has_headers = items.any(|item| {
            item.kind == ItemKind::Include && headers::is_of_project(self.program, item.range)
        });
        let is_asked_for = |word: &&str| {
            *word == VERSION_OF_C || WORDS_OF_C.iter().any(|(known, _)| known == word)
        };
        let used: BTreeSet<&str> = lex::tokens(source, whole)
            .filter(|token| token.kind == TokenKind::Identifier)
            .map(|token| token.text(source))
            .filter(is_asked_for)
            .collect();
        let unit = &self.program.unit;
        for (word, meaning) in WORDS_OF_C {
            let meaning = match meaning {
                "bool" if is_name_in_c(unit, meaning) => "decltype(!0)",
                _ => meaning,
            };
            let is_word = word != "noreturn"
                || self
                    .program
                    .macro_at(word, TextRange::empty(whole.end()))
                    .is_some();
            if is_word && (has_headers || used.contains(word)) {
                self.line(format!("#define {word} {meaning}").trim_end());
            }
        }
        let version = self.program.macro_at(VERSION_OF_C, TextRange::default());
        if let Some(version) = version
            && (has_headers || used.contains(VERSION_OF_C))
        {
            self.line(&format!("#define {VERSION_OF_C} {}", version.body));
        }
    }

    /// What a header of the project needs before it: CUDA's names must not be in its way.
    pub(super) fn names_for(&mut self, include: TextRange) {
        let names = headers::names_included_by(self.program, std::iter::once(include));
        if !self.own_cuda_names.is_disjoint(&names) {
            self.header();
        }
    }

    /// What goes before the first code, once.
    pub(super) fn header(&mut self) {
        if !self.has_header {
            self.has_header = true;
            self.words_of_c();
            let macros = self.macros_unlike_c(self.place, |_| true);
            if self.has_complex {
                self.include_without(&macros, "#include <math.h>");
                self.line(complex::DEFINITION);
            }
            if self.program.device_code.tracks_threads {
                self.line(
                    "#define REX_TRACK_THREADS /* who executes a piece of code is asked for */",
                );
            }
            if self.uses_float16() {
                self.line("#define REX_FLOAT16 /* nvcc has no type of this name */");
            }
            // Where `rex_nvidia.h` gives its names other meanings, it could not be read any more.
            let expansion = self.program.unit.expansion.as_ref();
            if !self.has_omp && expansion.is_some_and(|it| it.reads_header("omp.h")) {
                self.include_without(&macros, "#include <omp.h>");
            }
            let files = ["rex_nvidia.h", "xomp_cuda_lib_inlined.cu"];
            for line in guarded::include(self.program, &files) {
                self.line(&line);
            }
            if self.has_complex {
                for line in complex::macros(self.program, &self.names_in_headers) {
                    self.line(&line);
                }
            }
            self.keywords();
            self.locks();
            let program = self.program;
            let kernels = program.kernels.values();
            for line in kernels.filter_map(|it| kernel::object_declaration(program, it)) {
                self.line(&line);
            }
        }
    }

    /// Whether the file or a macro of it says `_Float16`.
    pub(super) fn uses_float16(&self) -> bool {
        let source = self.program.source();
        let is_word = |token: lex::Token| token.text(source) == "_Float16";
        source.contains("_Float16") && lex::tokens(source, lex::whole(source)).any(is_word)
            || self.names_in_headers.contains("_Float16")
    }

    /// Names of C that are keywords of C++, the language of the device file.
    pub(super) fn keywords(&mut self) {
        for name in self.own_cuda_names.clone() {
            self.line(&format!(
                "#define {name} {} /* CUDA has one of its own */",
                keywords::device_name(name)
            ));
        }
        if self.program.language() != Language::C {
            return;
        }
        let source = self.program.source();
        let whole = TextRange::up_to(TextSize::of(source));
        // What only C++ reads has them as keywords.
        let is_read = |token: &lex::Token| !self.program.unit.is_inactive(token.range);
        let unit = &self.program.unit;
        let is_keyword =
            |word: &str| is_name_in_c(unit, word) && !keywords::is_operator_in_cxx(unit, word);
        let used: BTreeSet<&str> = lex::tokens(source, whole)
            .filter(|token| token.kind == TokenKind::Identifier)
            .filter(|token| is_keyword(token.text(source)))
            .filter(is_read)
            .map(|token| token.text(source))
            .collect();
        for name in self.variables_like_functions() {
            self.line(&format!(
                "#define {name} {} /* a function of the library */",
                keywords::device_name(name)
            ));
            self.renamed_keywords.insert(name);
        }
        for word in &used {
            self.line(&format!(
                "#define {word} {} /* a keyword of C++ */",
                keywords::device_name(word)
            ));
        }
        self.renamed_keywords.extend(used);
    }

    /// Variables of a C program that are called like functions which headers of device code may declare.
    fn variables_like_functions(&self) -> BTreeSet<&'p str> {
        let program = self.program;
        let variables = program.symbols.iter().filter(|(id, symbol)| {
            symbol.kind == SymbolKind::Global
                && symbol.declared_at.is_some()
                && library::may_be_declared(&symbol.name)
                && !program.is_static(*id)
        });
        variables.map(|(_, symbol)| symbol.name.as_str()).collect()
    }

    /// An `#include` of the system's: `std::max` and `numeric_limits::min` mean neither the names that the file has in place of CUDA's nor macros of the program, and
    /// keywords of C++ are keywords.
    pub(super) fn system_include(&mut self, include: &str, at: TextRange) {
        let mut names = match self.has_header {
            true => self.own_cuda_names.clone(),
            false => BTreeSet::new(),
        };
        names.extend(&self.renamed_keywords);
        names.extend(self.macros_unlike_c(at, |_| true));
        self.include_without(&names, include);
    }

    /// An `#include` of a header of the project, which may include the system's. It can use the program's macros for its types.
    pub(super) fn project_include(&mut self, include: &str, at: TextRange) {
        let names = self.macros_unlike_c(at, |definition| definition.parameters.is_some());
        self.include_without(&names, include);
    }

    fn include_without(&mut self, names: &BTreeSet<&str>, include: &str) {
        for line in guarded::without_macros(names, std::iter::once(include.to_string())) {
            self.line(&line);
        }
    }

    /// The macros of a C program that stand in front of a place and have names as C++ gives them to functions.
    ///
    /// Headers of the system are longer in C++ than in C, and use more names. What a program tells them is in capitals or reserved.
    fn macros_unlike_c(
        &self,
        at: TextRange,
        is_meant: impl Fn(&MacroDef) -> bool,
    ) -> BTreeSet<&'p str> {
        let program = self.program;
        if program.language() != Language::C {
            return BTreeSet::new();
        }
        // What an include defines itself is not in front of it.
        let Some(before) = at.start().checked_sub(TextSize::of('\n')) else {
            return BTreeSet::new();
        };
        let at = TextRange::empty(before);
        let names = program.unit.macros.names_of_program();
        names
            .map(|name| name.as_str())
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .filter(|name| program.macro_at(name, at).is_some_and(&is_meant))
            .collect()
    }

    /// One lock for each name of a critical section.
    pub(super) fn locks(&mut self) {
        let mut names = BTreeSet::new();
        for (_, kernel) in self.program.kernels.iter() {
            body::locks_of(&kernel.body, &mut names);
        }
        let devices = &self.program.device_code.functions;
        let lambdas = &self.program.instances.closures;
        let bodies = devices.iter().map(|device| &device.body);
        for body in bodies.chain(lambdas.iter().map(|lambda| &lambda.body)) {
            body::locks_of(&Plan::Text(body.clone()), &mut names);
        }
        for team in devices.iter().filter_map(|device| device.team.as_ref()) {
            body::locks_of(&team.body, &mut names);
        }
        for name in names {
            self.line(&format!("REX_CRITICAL_LOCK({name});"));
        }
    }
}
