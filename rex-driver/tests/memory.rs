//! How much memory a text takes: at most 50 times its size, whatever it is made of.
//!
//! Texts of nothing but small regions are the exception: they become more text than they were.

#[path = "../examples/fuzz/memory.rs"]
mod memory;

use std::fmt::Write;
use std::sync::Arc;

use rex_driver::{Compiler, Language, SourceInput};
use rex_syntax::expansion::Expansion;

/// The size of the texts, and what any text may take besides.
const TEXT_BYTES: usize = 1 << 20;
const FIXED_BYTES: usize = 4 << 20;

/// A text of a head, numbered items and a tail.
struct Shape {
    name: &'static str,
    head: &'static str,
    /// `@` is the number.
    item: &'static str,
    separator: &'static str,
    tail: &'static str,
    /// How many times its size it may take.
    most: usize,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "a sum",
        head: "void f(long s) {\n#pragma omp target map(s)\n s = 0 + ",
        item: "@",
        separator: " + ",
        tail: ";\n}\n",
        most: 50,
    },
    Shape {
        name: "a call",
        head: "int g(int, ...);\nint f(int a) {\n#pragma omp target\n ;\n return g(a, ",
        item: "a * @",
        separator: ", ",
        tail: ");\n}\n",
        most: 50,
    },
    Shape {
        name: "a declaration",
        head: "int ",
        item: "v@ = @",
        separator: ", ",
        tail: ";\nvoid f(void) {\n#pragma omp target\n ;\n}\n",
        most: 50,
    },
    Shape {
        name: "an array",
        head: "const int v[] = {",
        item: "@",
        separator: ", ",
        tail: "};\nint f(int i) {\n int r;\n#pragma omp target map(from: r)\n r = v[i];\n return r;\n}\n",
        most: 50,
    },
    Shape {
        name: "statements",
        head: "int f(int s) {\n#pragma omp target map(s)\n {\n",
        item: " s += @;",
        separator: "\n",
        tail: "\n }\n return s;\n}\n",
        most: 50,
    },
    Shape {
        name: "names in a sum",
        head: "int f(int a) {\n#pragma omp target\n ;\n return ",
        item: "a",
        separator: "+",
        tail: ";\n}\n",
        most: 50,
    },
    Shape {
        name: "an expression with commas",
        head: "int g(int);\nint f(int a) {\n#pragma omp target\n ;\n return ",
        item: "g(@)",
        separator: ", ",
        tail: ";\n}\n",
        most: 50,
    },
    Shape {
        name: "an enumeration",
        head: "enum {\n",
        item: "e@",
        separator: ",\n",
        tail: "};\nvoid f(void) {\n#pragma omp target\n ;\n}\n",
        most: 50,
    },
    Shape {
        name: "prototypes",
        head: "void f(void) {\n#pragma omp target\n ;\n}\n",
        item: "int f@(int a, int b);",
        separator: "\n",
        tail: "\n",
        most: 50,
    },
    Shape {
        name: "functions",
        head: "void f(int s) {\n#pragma omp target map(s)\n s = 1;\n}\n",
        item: "static int g@(int a, int b) {\n  return a * b + @;\n}",
        separator: "\n",
        tail: "\n",
        most: 50,
    },
    Shape {
        name: "functions with loops in regions",
        head: "",
        item: "/* Adds @ to each number of the list, on the device if there is one. */
void f@(int *list, int length, int *sum) {
  int total = 0;
  for (int i = 0; i < length; i++) {
    if (list[i] < 0)
      list[i] = -list[i];
    total += list[i] % (@ + 1);
  }
#pragma omp target teams distribute parallel for map(tofrom: list[0:length])
  for (int i = 0; i < length; i++) {
    int old = list[i];
    list[i] = old * old + @;
    if (list[i] > 1000)
      list[i] = 1000 - old;
  }
  *sum = total;
}",
        separator: "\n\n",
        tail: "\n",
        most: 50,
    },
    Shape {
        name: "small regions",
        head: "",
        item: "void f@(int *a) {\n#pragma omp target map(a[0:4])\n a[0] = @;\n}",
        separator: "\n",
        tail: "\n",
        most: 105,
    },
];

impl Shape {
    fn text(&self) -> String {
        let mut text = self.head.to_owned();
        for number in 0.. {
            text.push_str(&self.item.replace('@', &number.to_string()));
            if text.len() > TEXT_BYTES {
                break;
            }
            text.push_str(self.separator);
        }
        text.push_str(self.tail);
        text
    }
}

#[test]
fn memory_grows_with_the_text() {
    let compiler = Compiler::builder().build();
    let mut report = String::new();
    let mut is_more = false;
    for shape in SHAPES {
        let text = shape.text();
        let before = memory::begin();
        let expanded = format!("# 1 \"text.c\"\n{text}");
        let input = SourceInput {
            name: "text.c".into(),
            bytes: text.clone().into_bytes(),
            language: Language::C,
            expansion: Some(Arc::new(Expansion::parse(expanded.into_bytes(), "text.c"))),
            headers: Vec::new(),
        };
        let compilation = compiler.compile(input).expect("it can be compiled");
        let growth = before.growth();
        assert!(!compilation.has_errors(), "{}", shape.name);
        let times = growth.saturating_sub(FIXED_BYTES) / text.len();
        is_more |= times > shape.most;
        writeln!(report, "{}: {times}, at most {}", shape.name, shape.most)
            .expect("it is a string");
    }
    assert!(!is_more, "times the size of the text:\n{report}");
}
