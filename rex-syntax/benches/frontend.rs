//! The whole frontend beside tree-sitter alone, on the same text. The frontend should cost at most three times the parse.

use rex_syntax::diag::Diagnostics;
use rex_syntax::source::{Language, SourceFile, SourceMap};
use rex_syntax::unit::read_unit;

fn main() {
    divan::main();
}

const LANGUAGES: [Language; 2] = [Language::C, Language::Cxx];

/// About 100 KB of functions with regions, macros and conditionals.
///
/// `REX_BENCH_FILE` names another text.
fn text() -> String {
    if let Ok(file) = std::env::var("REX_BENCH_FILE") {
        return std::fs::read_to_string(file).expect("a file of text");
    }
    const FUNCTION: &str = "\
#if SIZE > 10
#define STEP 2
#else
#define STEP 1
#endif
static void update(int n, float *restrict a, const float *b) {
  float sum = 0.0f; /* the result */
  #pragma omp target teams distribute parallel for map(tofrom: a[0:n]) map(to: b[0:n]) reduction(+: sum)
  for (int i = 0; i < n; i += STEP) {
    a[i] = b[i] * 2.0f + CHECK(a[i], n) - (i % 3 ? a[i] : -a[i]);
    sum += a[i];
  }
  printf(\"sum = %f\\n\", sum); // done
}
";
    format!(
        "#define CHECK(x, n) ((x) > (n) ? (n) : (x))\n{}",
        FUNCTION.repeat(180)
    )
}

#[divan::bench(args = LANGUAGES)]
fn parser_alone(bencher: divan::Bencher<'_, '_>, language: Language) {
    let text = text();
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cxx => tree_sitter_cpp::LANGUAGE,
    };
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&grammar.into())
        .expect("the grammar fits the library");
    bencher.bench_local(|| parser.parse(&text, None));
}

#[divan::bench(args = LANGUAGES)]
fn frontend(bencher: divan::Bencher<'_, '_>, language: Language) {
    let text = text();
    bencher.bench(|| {
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new("bench.c", language, text.as_str()));
        read_unit(&mut sources, file, None, &mut Diagnostics::new())
    });
}
