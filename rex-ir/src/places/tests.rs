use rex_syntax::{TextRange, TextSize};

use crate::program::Program;
use crate::testing::program;

const NESTED: &str = "\
void outer(int n, int *a) {
#pragma omp target
  {
#pragma omp parallel
    {
#pragma omp barrier
      a[0] = 1;
    }
#pragma omp parallel
    a[1] = 2;
  }
  struct Local { void inner() { int here; } };
#pragma omp target
  a[2] = 3;
}
void outer(double) {}
";

fn place(program: &Program, text: &str) -> TextRange {
    let at = TextSize::try_from(program.source().find(text).expect("in the text"));
    TextRange::at(at.expect("short"), TextSize::of(text))
}

#[test]
fn constructs_are_found_from_the_inside_out() {
    let program = program(NESTED);
    let around = |text| {
        let found = program.constructs_around(place(&program, text));
        let names = found.map(|(_, construct)| format!("{:?}", construct.leaves));
        names.collect::<Vec<_>>().join(" in ")
    };
    assert_eq!(around("a[0] = 1"), "[Parallel] in [Target]");
    assert_eq!(around("a[1] = 2"), "[Parallel] in [Target]");
    assert_eq!(around("a[2] = 3"), "[Target]");
    assert_eq!(around("int here"), "");
}

#[test]
fn constructs_in_a_range_are_found_in_order() {
    let program = program(NESTED);
    let inside = |range| program.constructs_in(range).count();
    let first = program.regions.values().next().expect("a region").construct;
    assert_eq!(inside(program.constructs[first].range), 4);
    assert_eq!(inside(place(&program, "a[1] = 2;\n  }")), 0);
    let whole = TextRange::up_to(TextSize::of(program.source()));
    assert_eq!(inside(whole), program.constructs.len());
    assert_eq!(program.regions_in(whole).count(), 2);
}

#[test]
fn functions_are_found_by_place_and_name() {
    let program = program(NESTED);
    let at = |text| {
        let found = program.function_at(place(&program, text));
        found.map_or("", |id| program.functions[id].name.as_str())
    };
    assert_eq!(at("int here"), "inner");
    assert_eq!(at("a[2] = 3"), "outer");
    assert_eq!(at("void outer(double)"), "outer");
    assert_eq!(program.functions_named("outer").count(), 2);
    assert_eq!(program.functions_named("other").count(), 0);
    let whole = TextRange::up_to(TextSize::of(program.source()));
    let names = program.functions_in(whole).map(|(_, it)| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["outer", "inner", "outer"]);
}
