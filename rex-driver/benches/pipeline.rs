//! What lowering costs: run with `cargo bench -p rex-driver`.
//!
//! The input is made here: functions with target regions, structs and macros, about 25 lines each. The host preprocessor is not part of it.

use rex_driver::{Compiler, Language, SourceInput};

fn main() {
    divan::main();
}

/// About `lines` lines of C with a region in every function.
fn source(lines: usize) -> String {
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n#define AT(a, i, j) (a)[(i) * width + (j)]\n\ntypedef struct {\n  double weight;\n  int kind, flags;\n} cell;\n\n",
    );
    for idx in 0..lines / 25 {
        text.push_str(&format!(
            "/* Function {idx}: a stencil and a sum over it. */
static double blend_{idx}(double a, double b) {{ return 0.5 * a + 0.25 * b; }}

double step_{idx}(double *out, const double *in, const cell *cells, int height, int width) {{
  double total = 0;
#pragma omp target data map(to : in[0 : height * width], cells[0 : height]) map(from : out[0 : height * width])
  {{
#pragma omp target teams distribute parallel for collapse(2)
    for (int i = 1; i < height - 1; i++) {{
      for (int j = 1; j < width - 1; j++) {{
        double around = AT(in, i - 1, j) + AT(in, i + 1, j) + AT(in, i, j - 1) + AT(in, i, j + 1);
        if (cells[i].kind == {idx} && (cells[i].flags & 1))
          around *= cells[i].weight; // weighted
        AT(out, i, j) = blend_{idx}(AT(in, i, j), around);
      }}
    }}
#pragma omp target teams distribute parallel for reduction(+ : total) map(tofrom : total)
    for (int i = 0; i < height * width; i++)
      total += out[i];
  }}
  return total;
}}

"
        ));
    }
    text
}

#[divan::bench(args = [100, 1000, 10000])]
fn lower(bencher: divan::Bencher<'_, '_>, lines: usize) {
    let compiler = Compiler::builder().build();
    let bytes = source(lines).into_bytes();
    bencher.with_inputs(|| bytes.clone()).bench_values(|bytes| {
        compiler
            .compile(SourceInput {
                name: "bench.c".into(),
                bytes,
                language: Language::C,
                expansion: None,
                headers: Vec::new(),
            })
            .map(|compilation| compilation.artifacts.is_some())
    });
}

#[divan::bench(args = [100, 1000, 10000])]
fn parse_only(bencher: divan::Bencher<'_, '_>, lines: usize) {
    let text = source(lines);
    bencher.bench(|| {
        rex_syntax::cst::parse_fragment(&text, Language::C)
            .root()
            .range()
    });
}
