//! The time it takes to lower one file in memory, the host preprocessor apart.

use divan::Bencher;
use rex_driver::{Compiler, Language, SourceInput};

fn main() {
    divan::main();
}

/// Lowers files of about so many lines; every tenth line begins a target region.
#[divan::bench(args = [100, 1_000, 10_000])]
fn lower(bencher: Bencher<'_, '_>, n_lines: usize) {
    let compiler = Compiler::builder().build();
    let bytes = program(n_lines).into_bytes();
    bencher
        .with_inputs(|| SourceInput {
            name: "bench.c".to_owned(),
            bytes: bytes.clone(),
            language: Language::C,
            expansion: None,
        })
        .bench_values(|input| compiler.compile(input));
}

fn program(n_lines: usize) -> String {
    let mut text = String::from("#include <stdio.h>\n\n");
    for idx in 0..n_lines / 10 {
        text.push_str(&format!(
            "/* Adds one array to another. */\n\
             void add{idx}(int n, float a, const float *x, float *y)\n\
             {{\n\
             #pragma omp target teams distribute parallel for map(to: x[0:n]) map(tofrom: y[0:n])\n\
             \x20 for (int i = 0; i < n; i++) {{\n\
             \x20   y[i] += a * x[i];\n\
             \x20 }}\n\
             }}\n\
             \n\n"
        ));
    }
    text.push_str("int main(void) { return 0; }\n");
    text
}
