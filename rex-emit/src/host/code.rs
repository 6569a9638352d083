//! Lines of a block of code, indented by nesting.

/// A block under construction. Its first line has no indentation: it goes where the construct stood.
pub(super) struct Code {
    indent: String,
    step: String,
    depth: usize,
    text: String,
}

impl Code {
    /// An empty block at `indent`, whose inner lines are `step` deeper.
    pub(super) fn new(indent: &str, step: &str) -> Code {
        Code {
            indent: indent.to_string(),
            step: step.to_string(),
            depth: 0,
            text: String::new(),
        }
    }

    /// Blanks before the next line.
    pub(super) fn margin(&self) -> String {
        format!("{}{}", self.indent, self.step.repeat(self.depth))
    }

    /// Adds a line, or several that keep their relative indentation. Directives stand at the margin.
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        let margin = self.margin();
        for line in text.as_ref().lines() {
            if !self.text.is_empty() {
                self.text.push('\n');
                if !line.starts_with('#') {
                    self.text.push_str(&margin);
                }
            }
            self.text.push_str(line);
        }
    }

    /// Adds text whose lines after the first are indented already.
    pub(super) fn verbatim(&mut self, text: &str) {
        let margin = self.margin();
        self.text.push('\n');
        self.text.push_str(&margin);
        self.text.push_str(text);
    }

    /// Adds lines.
    pub(super) fn lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        for line in lines {
            self.line(line);
        }
    }

    /// Adds a line after which lines are one level deeper.
    pub(super) fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Adds a line one level less deep.
    pub(super) fn close(&mut self, line: impl AsRef<str>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Spells the loops and statements of a nested block.
    pub(super) fn finish(self) -> String {
        self.text
    }
}
