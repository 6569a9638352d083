//! Tasks, each of which changes a variable or an array of its own.

use crate::data::Array;
use crate::program::Program;
use crate::statements::{Place, Scope};

use super::elements;

impl Program {
    /// Tasks that end before what follows.
    pub(super) fn tasks(&mut self, scope: &Scope, written: &[Array], changed: &[Place]) {
        if self.one_in(3) {
            let (targets, inner) = self.split(written, scope);
            let kind = self.pick(&[
                "taskloop default(shared)",
                "taskloop default(shared) grainsize(3)",
                "taskloop default(shared) num_tasks(4)",
            ]);
            self.array_loop(kind, &inner, &targets, &[]);
            return;
        }
        let is_group = self.one_in(2);
        if is_group {
            self.code.directive("taskgroup");
            self.code.open("");
        }
        let mut places = changed.to_vec();
        for array in written {
            let at = self.random.below(array.length).to_string();
            places.extend(elements(std::slice::from_ref(array), &at));
        }
        for place in places {
            let clause = match self.random.below(5) {
                0 => " if(n > 50)",
                1 => " final(n > 3)",
                2 => " untied",
                _ => "",
            };
            self.code
                .directive(&format!("task default(shared){clause}"));
            self.code.open("");
            self.statements(scope, &[place], 1);
            self.code.close();
        }
        match is_group {
            true => self.code.close(),
            false => self.code.directive("taskwait"),
        }
    }
}
