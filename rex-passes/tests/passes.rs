//! What each built-in pass does, leaves alone and rejects, on small inputs.

use expect_test::expect;
use rex_passes::testing::{check_pass, run_all};

const LOOP: &str = "
static double scale(double v) { return v * 2; }
void f(double *a, int n) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n])
  for (int i = 0; i < n; i++)
    a[i] = scale(a[i]);
}
";

const DATA: &str = "
int main(void) {
  int a[8] = {0};
#pragma omp target data map(to : a)
  {
#pragma omp target update from(a[2 : 3])
  }
  return 0;
}
";

const ATOMIC_FUNCTION: &str = "static void add(int *x) {\n#pragma omp atomic\n  *x += 1;\n}\nvoid f(int *x) {\n#pragma omp target map(tofrom : x[0 : 1])\n  add(x);\n}\n";

const NOTHING: &str = "int main(void) { return 0; }\n";

#[test]
fn device_closure_follows_calls() {
    check_pass(
        "device-closure",
        LOOP,
        &expect![[r#"
        changed: yes
        +device-code:
        +  function scale, 0 replacements
    "#]],
    );
}

#[test]
fn device_closure_leaves_host_functions_alone() {
    check_pass(
        "device-closure",
        DATA,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn device_closure_names_calls_without_definition() {
    check_pass(
        "device-closure",
        "int other(int);\nvoid f(int *x) {\n#pragma omp target map(tofrom : x[0 : 1])\n  x[0] = other(1);\n}\n",
        &expect![[r#"
            changed: yes
            +device-code:
            +  function other of another file
            REX0302: device code calls `other`, which this file only declares
        "#]],
    );
}

#[test]
fn device_directives_replace_atomics_in_functions() {
    check_pass(
        "device-directives",
        ATOMIC_FUNCTION,
        &expect![[r#"
            changed: yes
            -  function add, 0 replacements
            +  function add, 1 replacements
        "#]],
    );
}

#[test]
fn device_directives_leave_plain_functions_alone() {
    check_pass(
        "device-directives",
        LOOP,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn device_directives_share_work_among_callers() {
    check_pass(
        "device-directives",
        "static void g(int *x) {\n#pragma omp for\n  for (int i = 0; i < 4; i++) x[i] = i;\n}\nvoid f(int *x) {\n#pragma omp target map(tofrom : x[0 : 4])\n  g(x);\n}\n",
        &expect![[r#"
            changed: yes
            -  function g, 0 replacements
            +  function g, 1 replacements
        "#]],
    );
}

#[test]
fn target_outlining_makes_a_kernel_and_a_launch() {
    check_pass(
        "target-outlining",
        LOOP,
        &expect![[r#"
            changed: yes
            +kernels:
            +  OUT__1__f87df4c4__f__4__kernel__ Independent
            +    parameter a Declared(TypeId(4))
            +    parameter n__arg Slot
            +    Literal { name: "n", ty: TypeId(5), parameter: "n__arg" }
            +    Loop(LoopPlan { construct: Idx::<Construct>(0), nest: Idx::<LoopNest>(0), depth: 1, space: Grid, privates: [], reductions: [], lastprivates: [], final_values: [], linears: [], body: Text(BodyText { range: 182..201, replacements: [] }), waits: false, chunk: None })
            +launches:
            +  OUT__1__f87df4c4__f__4__kernel__ teams None threads None trips Some(Call("rex_trips", [ToInt64(Source(170..171)), Int(1)]))
        "#]],
    );
}

#[test]
fn target_outlining_leaves_data_constructs_alone() {
    check_pass(
        "target-outlining",
        DATA,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn target_outlining_rejects_pointer_reductions() {
    check_pass(
        "target-outlining",
        "void f(double *s) {\n#pragma omp target teams distribute parallel for reduction(+ : s)\n  for (int i = 0; i < 4; i++) *s += i;\n}\n",
        &expect![[r#"
            changed: no
            REX0205: the pointer `s` cannot be reduced
        "#]],
    );
}

#[test]
fn map_arrays_follow_captures() {
    check_pass(
        "map-arrays",
        LOOP,
        &expect![[r#"
        changed: yes
        +map-arrays:
        +  launch of region0
        +    0x23 a[0 : n]
        +    0x320 n
    "#]],
    );
}

#[test]
fn map_arrays_of_data_constructs_have_no_parameters() {
    check_pass(
        "map-arrays",
        DATA,
        &expect![[r#"
        changed: yes
        +map-arrays:
        +  data0
        +    0x1 a
        +  data1
        +    0x2 a[2 : 3]
    "#]],
    );
}

#[test]
fn map_arrays_attach_members_behind_pointers() {
    check_pass(
        "map-arrays",
        "struct s { int n; double *p; };\nvoid f(struct s *v) {\n#pragma omp target map(to : v->n) map(tofrom : v->p[0 : v->n])\n  v->p[0] = v->n;\n}\n",
        &expect![[r#"
            changed: yes
            +map-arrays:
            +  launch of region0
            +    0x20 v
            +    0x1000000000001 v->n
            +    0x1000000000013 v->p[0 : v->n]
        "#]],
    );
}

#[test]
fn offload_entries_cover_kernels_and_variables() {
    check_pass(
        "offload-entries",
        "#pragma omp declare target\nint hits;\n#pragma omp end declare target\nvoid f(void) {\n#pragma omp target\n  hits++;\n}\n",
        &expect![[r#"
            changed: yes
            +entry-table:
            +  OUT__1__f87df4c4__f__5__omp_offload_entry__
            +  OUT__variable__hits__omp_offload_entry__
        "#]],
    );
}

#[test]
fn offload_entries_need_kernels() {
    check_pass(
        "offload-entries",
        NOTHING,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn init_goes_to_the_start_of_main() {
    check_pass(
        "init-insertion",
        DATA,
        &expect![[r#"
        changed: yes
        +init:
        +  rex_offload_init at 17
    "#]],
    );
}

#[test]
fn init_needs_main() {
    check_pass(
        "init-insertion",
        LOOP,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn init_needs_device_constructs() {
    check_pass(
        "init-insertion",
        NOTHING,
        &expect![[r#"
        changed: no
    "#]],
    );
}

#[test]
fn teardown_is_decided() {
    check_pass(
        "no-auto-fini",
        DATA,
        &expect![[r#"
        changed: yes
        -  Undecided
        +  ExplicitOnly
    "#]],
    );
}

#[test]
fn a_second_run_changes_nothing() {
    let (mut program, mut diagnostics) = run_all(ATOMIC_FUNCTION, &mut ());
    let manager = rex_passes::PassManager::new(rex_passes::registry()).expect("ordered");
    let reports = manager
        .run(&mut program, &mut diagnostics, &mut ())
        .expect("valid");
    let changed: Vec<&str> = reports
        .iter()
        .filter(|report| report.changed)
        .map(|report| report.pass)
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn the_manual_lists_the_passes() {
    let manager = rex_passes::PassManager::new(rex_passes::registry()).expect("ordered");
    let mut page = String::from(
        "# Passes\n\nIn the order they run. The order follows from what passes read and write; `rex-driver passes --format dot` draws it.\nThis page is made by a test (`UPDATE_EXPECT=1 cargo test -p rex-passes`).\n\n| pass | what it makes | reads | writes |\n|---|---|---|---|\n",
    );
    for info in manager.schedule().passes() {
        let words = |facets: rex_ir::facet::Facet| {
            facets
                .iter()
                .map(rex_ir::facet::Facet::name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        page.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            info.name,
            info.summary,
            words(info.reads),
            words(info.writes)
        ));
    }
    expect_test::expect_file!["../../docs/passes.md"].assert_eq(&page);
}
