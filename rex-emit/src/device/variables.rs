//! Variables of file and namespace scope in the device file, and the types that their declarations define.

use rex_ir::item::DeviceStorage;
use rex_ir::namer;
use rex_ir::symbol::SymbolId;
use rex_ir::ty::Category;
use rex_syntax::edit::EditConflict;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::SmolStr;

use super::function::without_extern;
use super::linkage::without_word;
use super::{Device, instances, references, statics};

/// Words between the keyword of a type and its name that are not the name.
const ATTRIBUTES: [&str; 4] = ["__attribute__", "__attribute", "alignas", "_Alignas"];

/// A type that a declaration of variables defines.
struct Definition<'p> {
    /// From the keyword to the closing brace.
    range: TextRange,
    /// `struct`, `union`, `class` or `enum`.
    keyword: &'p str,
    tag: Option<&'p str>,
}

impl<'p> Device<'p> {
    pub(super) fn storage(&self, symbol: SymbolId) -> Option<DeviceStorage> {
        self.program.device_storage(symbol)
    }

    /// The definition of a type that stands in a declaration of variables: `struct S { int x; } s;`.
    pub(super) fn type_in_declaration(
        &mut self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Result<(), EditConflict> {
        if let Some(definition) = self.type_of_declaration(symbols, range) {
            let text = self.classes.print(definition)?;
            self.header();
            self.line(&format!("{};", text.trim_end()));
        }
        Ok(())
    }

    /// From the keyword to the closing brace of that type.
    pub(super) fn type_of_declaration(
        &self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Option<TextRange> {
        // The kernels that capture objects of a struct without a name define it.
        let found = self.definition_in(symbols, range);
        let found = found.filter(|it| it.keyword == "enum" || it.tag.is_some());
        found.map(|it| it.range)
    }

    /// The type that a declaration of variables defines in front of their names.
    fn definition_in(&self, symbols: &[SymbolId], range: TextRange) -> Option<Definition<'p>> {
        let source = self.program.source();
        let first = symbols
            .first()
            .and_then(|symbol| self.program.symbols[*symbol].declared_at);
        let before = first.map_or(range, |at| TextRange::new(range.start(), at.start()));
        let mut tokens = lex::significant_tokens(source, before);
        let keyword = tokens
            .find(|token| matches!(token.text(source), "struct" | "union" | "class" | "enum"))?;
        let mut depth = 0usize;
        let tag = tokens
            .take_while(|token| !matches!(token.text(source), "{" | ":"))
            .filter(|token| {
                match token.text(source) {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && token.kind == lex::TokenKind::Identifier
            })
            .map(|token| token.text(source))
            .find(|word| !ATTRIBUTES.contains(word));
        let end = self.program.text(before).rfind('}')?;
        let end = before.start() + TextSize::try_from(end + 1).unwrap_or_default();
        (keyword.range.end() < end).then(|| Definition {
            range: TextRange::new(keyword.range.start(), end),
            keyword: keyword.text(source),
            tag,
        })
    }

    /// The definition of a type in a declaration of variables, with a name that other files can know, and the declaration with that name.
    ///
    /// Variables of types without names are a file's own in C++, and `__device__` belongs to the variables.
    fn apart(
        &self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Result<Option<[String; 2]>, EditConflict> {
        let (Some(definition), Some(first)) = (self.definition_in(symbols, range), symbols.first())
        else {
            return Ok(None);
        };
        let Definition {
            range: at, keyword, ..
        } = definition;
        let hoisted = self.put_before(range);
        let mut text = self.classes.print(at)?;
        if let Some(own) = text.strip_prefix(&hoisted) {
            text = own.to_string();
        }
        let name = match definition.tag {
            Some(tag) => SmolStr::from(tag),
            None => {
                let name = self.name_of_untagged(*first);
                let open = text.find('{').unwrap_or(text.len());
                text.insert_str(open, &format!("{name} "));
                name
            }
        };
        let specifiers = self.program.text(TextRange::new(range.start(), at.start()));
        let rest = self.text_of(TextRange::new(at.end(), range.end()));
        let variables = format!("{specifiers}{keyword} {name}{rest}");
        Ok(Some([format!("{hoisted}{};", text.trim_end()), variables]))
    }

    /// What device code says in front of a declaration: the types of C that are defined inside another one.
    fn put_before(&self, range: TextRange) -> String {
        let conversions = self.program.conversions.iter();
        let start = TextRange::empty(range.start());
        conversions
            .filter(|(at, _)| *at == start)
            .map(|(_, text)| text.as_str())
            .collect()
    }

    /// What device code calls the type without a name that the declaration of a variable defines.
    fn name_of_untagged(&self, variable: SymbolId) -> SmolStr {
        let types = &self.program.types;
        let element = types.innermost_element(self.program.symbols[variable].ty);
        let record = types.record(element);
        let record = record.map(|it| &types.records[it]);
        match record.filter(|it| it.is_untagged) {
            Some(record) => record.name.clone(),
            None => namer::type_of_variable(self.program.name(variable)),
        }
    }

    /// `typedef int unary(int); unary twice;` declares a function.
    fn functions_by_type(&mut self, symbols: &[SymbolId], range: TextRange) {
        let is_declared = |symbol: &SymbolId| self.is_declared(self.program.name(*symbol));
        if symbols.iter().all(is_declared) {
            self.header();
            let text = self.text_of(range);
            let text = format!("__device__ {}", without_extern(&text));
            let text = self.linked(range, self.program.name(symbols[0]), &text);
            self.line(&text);
        }
    }

    pub(super) fn variables(
        &mut self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Result<(), EditConflict> {
        let storages: Vec<DeviceStorage> = symbols
            .iter()
            .filter_map(|symbol| self.storage(*symbol))
            .collect();
        let types = &self.program.types;
        let is_function = |symbol: &SymbolId| {
            types.category(self.program.symbols[*symbol].ty) == Category::Function
        };
        if !symbols.is_empty() && symbols.iter().all(is_function) {
            self.functions_by_type(symbols, range);
            return Ok(());
        }
        let Some(storage) = storages.first() else {
            self.type_in_declaration(symbols, range)?;
            self.tentative(symbols);
            self.host_variables(symbols, range);
            return Ok(());
        };
        self.header();
        let members = &self.program.static_members;
        if symbols.iter().any(|symbol| members.contains_key(symbol)) {
            for symbol in symbols {
                for line in statics::definition(self.program, *symbol) {
                    self.line(&line);
                }
            }
            return Ok(());
        }
        if storages.iter().any(|storage| storage.needs_reference()) {
            self.type_in_declaration(symbols, range)?;
            for symbol in symbols {
                if let Some(line) = references::declaration(self.program, *symbol) {
                    self.line(&line);
                }
            }
            self.host_variables(symbols, range);
            return Ok(());
        }
        let text = self.text_of(range);
        let layout = self.program.layout_in_front(range);
        let types = &self.program.types;
        let is_scalar = symbols.iter().all(|symbol| {
            matches!(
                types.category(self.program.symbols[*symbol].ty),
                rex_ir::ty::Category::Scalar
            )
        });
        match storage {
            DeviceStorage::Constant if is_scalar => self.line(&format!("{layout}{text}")),
            DeviceStorage::Constant => self.line(&format!("{layout}__device__ {text}")),
            DeviceStorage::Group => {
                self.type_in_declaration(symbols, range)?;
                for symbol in symbols {
                    let found = &self.program.symbols[*symbol];
                    let declared = self.program.types.declare(found.ty, &found.name);
                    self.line(&format!("__shared__ {declared};"));
                }
            }
            DeviceStorage::Enter
            | DeviceStorage::Local
            | DeviceStorage::Link
            | DeviceStorage::Shared
            | DeviceStorage::Bound
            | DeviceStorage::Constructed => {
                for symbol in symbols {
                    self.name_on_device(*symbol);
                }
                let text = match self.apart(symbols, range)? {
                    Some([definition, variables]) => {
                        self.line(&definition);
                        variables
                    }
                    None => {
                        let before = self.put_before(range);
                        match text.strip_prefix(&before).filter(|_| !before.is_empty()) {
                            Some(rest) => {
                                self.line(before.trim_end());
                                rest.to_owned()
                            }
                            None => text,
                        }
                    }
                };
                let text = without_word(&text, "static");
                match without_extern(&text) {
                    rest if rest.len() < text.len() => {
                        self.line(&format!("{layout}extern __device__ {rest}"));
                    }
                    _ => {
                        let is_shared = symbols
                            .iter()
                            .any(|symbol| self.program.is_shared_by_files(*symbol));
                        let (linkage, text) = match is_shared {
                            true => (references::SHARED_BY_FILES, without_word(&text, "inline")),
                            false => ("", text),
                        };
                        self.line(&format!("{layout}__device__ {linkage}{text}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Variables of C that are defined further behind, and may be used before that: `int n; int f() { return n; } int n = 3;`.
    fn tentative(&mut self, symbols: &[SymbolId]) {
        let program = self.program;
        for symbol in symbols {
            let found = &program.symbols[*symbol];
            let is_behind = |other: &SymbolId| {
                let is_defined = matches!(
                    self.storage(*other),
                    Some(DeviceStorage::Enter | DeviceStorage::Local)
                );
                let place = |at: Option<TextRange>| at.map(TextRange::start);
                is_defined && place(program.symbols[*other].declared_at) > place(found.declared_at)
            };
            let definition = program.redeclarations(*symbol).into_iter().find(is_behind);
            if program.language() == Language::C
                && let Some(definition) = definition
            {
                self.header();
                self.name_on_device(definition);
                let declared = program
                    .types
                    .declare(found.ty, &self.written_name(definition));
                self.line(&format!("extern __device__ {declared};"));
            }
        }
    }

    /// The name of a variable as the text of the device file has it.
    pub(super) fn written_name(&self, symbol: SymbolId) -> SmolStr {
        match self.program.is_written_out(symbol) {
            true => namer::device_identifier(self.program, symbol),
            false => self.program.symbols[symbol].declared_name().into(),
        }
    }

    /// Internal linkage: the device symbol must be found by its name and be the file's own.
    fn name_on_device(&mut self, symbol: SymbolId) {
        let name = self.program.symbols[symbol].declared_name();
        let device_name = namer::device_identifier(self.program, symbol);
        if device_name != name && !self.program.is_written_out(symbol) {
            if self.renamed_keywords.contains(name) && self.program.is_static(symbol) {
                self.line(&format!("#undef {name}"));
            }
            self.line(&format!("#define {name} {device_name}"));
        }
    }

    /// Variables of the host that the code which leads to kernels of templates uses.
    pub(super) fn host_variables(&mut self, symbols: &[SymbolId], range: TextRange) {
        let instances = &self.program.instances;
        // The storage of what a kernel constructs has the variable's name, and code names what is in it.
        let is_constructed =
            |symbol: &SymbolId| self.storage(*symbol) == Some(DeviceStorage::Constructed);
        let of_host: Vec<SymbolId> = symbols
            .iter()
            .copied()
            .filter(|symbol| !is_constructed(symbol))
            .collect();
        if of_host
            .iter()
            .any(|symbol| instances.names.contains(self.program.name(*symbol)))
        {
            self.header();
            for line in instances::variables(self.program, &of_host, range) {
                self.line(&line);
            }
        }
        let initializer = symbols
            .iter()
            .find(|symbol| instances.initializers.contains(*symbol));
        if let Some(symbol) = initializer {
            self.header();
            let text = instances::initializer(self.program, *symbol, range);
            self.line(&text);
        }
    }
}
