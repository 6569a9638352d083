//! Files of generated programs.

use std::fmt::Write;
use std::ops::Range;

use crate::code::{Code, Reader};
use crate::data::{Array, Scalar, Shape, Storage, TYPES, Type};
use crate::random::Random;

/// The language of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "cpp",
        }
    }
}

const PROLOGUE: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define U(x) ((unsigned long long)(long long)(x))
";

/// One program while it is written.
pub(crate) struct Program {
    pub(crate) random: Random,
    pub(crate) language: Language,
    pub(crate) id: u64,
    pub(crate) code: Code,
    /// Functions and variables in front of it.
    pub(crate) file_scope: String,
    pub(crate) arrays: Vec<Array>,
    pub(crate) scalars: Vec<Scalar>,
    /// Functions that device code may call, of two numbers.
    pub(crate) functions: Vec<String>,
    /// Variables of the object that the function is called for, if it is a member function.
    pub(crate) members: Option<String>,
    /// A function template whose argument is `n`.
    pub(crate) is_template: bool,
    /// The array whose name means an address of the device.
    pub(crate) device_array: Option<String>,
    n_names: usize,
}

/// The text of a file with these programs.
pub(crate) fn file(language: Language, seed: u64, ids: Range<u64>) -> String {
    let mut text = PROLOGUE.to_string();
    let mut main = String::from(
        "int main(void) {\n  int wrong = 0;\n  unsigned long long a, b;\n  alarm(120); /* one that hangs ends */\n",
    );
    for id in ids {
        let program = Program::new(language, seed, id);
        text.push_str(&program.print());
        // Writing to a string does not fail.
        let [offloaded, sequential] = program.calls();
        let _ = writeln!(
            main,
            "  a = {offloaded};\n  b = {sequential};\n  printf(\"{id}: %llx%s\\n\", a, a == b ? \"\" : \" WRONG\");\n  wrong += a != b;"
        );
    }
    format!("{text}\n{main}  puts(wrong ? \"FAIL\" : \"PASS\");\n  return wrong != 0;\n}}\n")
}

impl Program {
    fn new(language: Language, seed: u64, id: u64) -> Self {
        // Every program has its own sequence, whatever file it is in.
        let mut mix = Random(seed.rotate_left(32) ^ id);
        let mut program = Self {
            random: Random(mix.next()),
            language,
            id,
            code: Code::default(),
            file_scope: String::new(),
            arrays: Vec::new(),
            scalars: Vec::new(),
            functions: Vec::new(),
            members: None,
            is_template: false,
            device_array: None,
            n_names: 0,
        };
        program.is_template = language == Language::Cxx && program.one_in(4);
        if language == Language::Cxx && program.one_in(4) {
            program.members = Some(String::new());
        }
        program.helpers();
        program.code.open("");
        if !program.is_template {
            program.code.line("int n = 40;");
        }
        program.variables();
        program.host_statements();
        program.result();
        program.code.close();
        program
    }

    fn print(&self) -> String {
        let id = self.id;
        let template = if self.is_template {
            "template <int n> "
        } else {
            ""
        };
        let body = |reader| self.code.print(reader);
        let functions = match &self.members {
            Some(members) => format!(
                "{template}struct Program{id} {{\n{members}  unsigned long long offloaded() {}  unsigned long long sequential() {}}};\n",
                body(Reader::Offloaded),
                body(Reader::Sequential)
            ),
            None => format!(
                "{template}static unsigned long long offloaded{id}(void) {}{template}static unsigned long long sequential{id}(void) {}",
                body(Reader::Offloaded),
                body(Reader::Sequential)
            ),
        };
        format!("\n{}{functions}", self.file_scope)
    }

    /// The calls of the two functions.
    fn calls(&self) -> [String; 2] {
        let id = self.id;
        let argument = if self.is_template { "<40>" } else { "" };
        ["offloaded", "sequential"].map(|name| match &self.members {
            Some(_) => format!("Program{id}{argument}().{name}()"),
            None => format!("{name}{id}{argument}()"),
        })
    }

    /// A name that no other variable of the program has.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        self.n_names += 1;
        format!("{stem}{}", self.n_names)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())].clone()
    }

    pub(crate) fn any_type(&mut self) -> Type {
        self.pick(TYPES)
    }

    /// Functions that device code calls.
    fn helpers(&mut self) {
        for _ in 0..self.random.below(3) {
            let stem = format!("helper{}_", self.id);
            let name = self.fresh(&stem);
            let (k, m) = (1 + self.random.below(9), 2 + self.random.below(9));
            let is_template = self.language == Language::Cxx && self.one_in(3);
            let head = match is_template {
                true => {
                    format!("template <class T> static unsigned long long {name}(T x, T y)")
                }
                false => format!(
                    "static unsigned long long {name}(unsigned long long x, unsigned long long y)"
                ),
            };
            let body = match self.random.below(3) {
                0 => format!("return x * {k} + y;"),
                1 => format!("return x % {m} == 0 ? y + {k} : x ^ y;"),
                _ => format!(
                    "unsigned long long z = y;\n  for (unsigned long long i = 0; i < x % {m}; i++)\n    z = z * {k} + i;\n  return z;"
                ),
            };
            self.file_scope
                .push_str(&format!("{head} {{\n  {body}\n}}\n"));
            self.functions.push(name);
        }
    }

    fn variables(&mut self) {
        let storages = [
            Storage::Local,
            Storage::RunTimeLength,
            Storage::Pointer,
            Storage::Pointer,
            Storage::File,
            Storage::DeclareTarget,
            Storage::MemberPointer,
            Storage::MemberChain,
            Storage::MemberArray,
        ];
        for _ in 0..2 + self.random.below(4) {
            let mut storage = self.pick(&storages);
            if storage == Storage::RunTimeLength && self.language == Language::Cxx {
                storage = Storage::Pointer;
            }
            let array = self.array(storage);
            self.define(&array);
            self.arrays.push(array);
        }
        for _ in 0..2 + self.random.below(4) {
            let ty = self.any_type();
            let name = self.fresh("s");
            let value = self.random.below(97);
            let is_member = self.members.is_some() && self.one_in(2);
            if is_member && let Some(members) = &mut self.members {
                members.push_str(&format!("  {} {name} = {value};\n", ty.name));
            } else if self.language == Language::Cxx && self.one_in(4) {
                self.code.line(format!("{} {name}_ = {value};", ty.name));
                self.code.line(format!("{} &{name} = {name}_;", ty.name));
            } else {
                self.code.line(format!("{} {name} = {value};", ty.name));
            }
            self.scalars.push(Scalar {
                name,
                ty,
                is_member,
            });
        }
    }

    /// An array that is not defined yet.
    fn array(&mut self, storage: Storage) -> Array {
        let stem = match storage {
            Storage::File | Storage::DeclareTarget => format!("g{}_", self.id),
            _ => "a".to_string(),
        };
        let mut name = self.fresh(&stem);
        let tag = format!("S{}_{name}", self.id);
        name.push_str(match storage {
            Storage::MemberPointer | Storage::MemberArray => ".m",
            Storage::MemberChain => ".q->m",
            _ => "",
        });
        let columns = 2 + self.random.below(9);
        let (shape, length) = match self.random.below(5) {
            _ if storage == Storage::RunTimeLength => (Shape::Flat, 40),
            0 => (Shape::Fields, 16 + self.random.below(49)),
            1 => (
                Shape::Rows { columns },
                columns * (8 + self.random.below(3)),
            ),
            _ => (Shape::Flat, 16 + self.random.below(49)),
        };
        let is_shifted =
            storage == Storage::Pointer && shape == Shape::Flat && self.random.below(5) == 0;
        let shift = match is_shifted {
            true => 1 + self.random.below(length - 1),
            false => 0,
        };
        Array {
            name,
            ty: self.any_type(),
            length,
            storage,
            shape,
            tag,
            shift,
        }
    }

    fn define(&mut self, array: &Array) {
        let outer_length = array.outer_length().to_string();
        let type_name = array.ty.name;
        if array.shape == Shape::Fields {
            self.file_scope.push_str(&format!(
                "struct {} {{ char before; {type_name} v; }};\n",
                array.tag
            ));
        }
        let plain = array
            .name
            .split_once('.')
            .map_or(&*array.name, |(plain, _)| plain);
        let shift = match array.shift {
            0 => String::new(),
            shift => format!(" + {shift}"),
        };
        let allocation = format!(
            "{} = ({})malloc({outer_length} * sizeof(*{})){shift};",
            array.name,
            array.pointer_type(),
            array.name
        );
        let declaration = array.declaration(plain, &outer_length);
        match array.storage {
            Storage::Local => match &mut self.members {
                Some(members) => members.push_str(&format!("  {declaration};\n")),
                None => self.code.line(format!("{declaration};")),
            },
            Storage::RunTimeLength => self
                .code
                .line(format!("{};", array.declaration(plain, "n"))),
            Storage::Pointer => {
                self.code.line(format!("{declaration};"));
                self.code.line(allocation);
            }
            Storage::File => self.file_scope.push_str(&format!("static {declaration};\n")),
            Storage::DeclareTarget => self.file_scope.push_str(&format!(
                "#pragma omp declare target\nstatic {declaration};\n#pragma omp end declare target\n"
            )),
            Storage::MemberChain => {
                let member = array.declaration("m", &outer_length);
                let holder = format!("H{}_{plain}", self.id);
                self.file_scope.push_str(&format!(
                    "struct {holder}_in {{ char before; {member}; }};\nstruct {holder} {{ int before; struct {holder}_in *q; int after; }};\n"
                ));
                self.code.line(format!("struct {holder}_in {plain}_in;"));
                self.code.line(format!("struct {holder} {plain};"));
                self.code.line(format!("{plain}.q = &{plain}_in;"));
                self.code.line(format!(
                    "{plain}.before = 1; {plain}.after = 2; {plain}_in.before = 3;"
                ));
                self.code.line(allocation);
            }
            Storage::MemberPointer | Storage::MemberArray => {
                let member = array.declaration("m", &outer_length);
                let holder = format!("H{}_{plain}", self.id);
                self.file_scope.push_str(&format!(
                    "struct {holder} {{ int before; {member}; int after; }};\n"
                ));
                self.code.line(format!("struct {holder} {plain};"));
                self.code
                    .line(format!("{plain}.before = 1; {plain}.after = 2;"));
                if array.storage == Storage::MemberPointer {
                    self.code.line(allocation);
                }
            }
        }
        let (k, c) = (1 + self.random.below(30), self.random.below(30));
        let store = array
            .ty
            .store(&array.element("i"), &format!("U(i * {k} + {c})"));
        let length = array.length;
        self.code
            .line(format!("for (int i = 0; i < {length}; i++) {store}"));
        if array.storage == Storage::DeclareTarget {
            self.code
                .directive(&format!("target update to({})", array.name));
        }
    }

    /// Adds up everything.
    fn result(&mut self) {
        self.code.line("unsigned long long result = 17;");
        for array in self.arrays.clone() {
            if array.storage == Storage::DeclareTarget {
                self.code
                    .directive(&format!("target update from({})", array.name));
            }
            self.code.line(format!(
                "for (int i = 0; i < {}; i++) result = result * 31 + U({});",
                array.length,
                array.element("i")
            ));
            if array.storage.is_pointer() {
                self.code.line(match array.shift {
                    0 => format!("free({});", array.name),
                    shift => format!("free({} - {shift});", array.name),
                });
            }
        }
        for scalar in self.scalars.clone() {
            self.code
                .line(format!("result = result * 31 + U({});", scalar.name));
        }
        self.code.line("return result;");
    }
}
