//! From words to the tree.

use crate::error::ParseError;
use crate::syntax::token::{Kind, Token};
use crate::syntax::{
    DEEPEST, Declaration, File, Function, Instruction, Operand, Statement, Value, number, size_of,
};

pub(crate) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: u32,
    /// Whether the error is about a word that is none of PTX.
    is_foreign: bool,
}

/// Directives of PTX that may stand in a function, but are not supported.
const DIRECTIVES: [&str; 9] = [
    ".alias",
    ".blocksareclusters",
    ".callprototype",
    ".calltargets",
    ".samplerref",
    ".sreg",
    ".surfref",
    ".tex",
    ".texref",
];

type Result<T> = std::result::Result<T, ParseError>;

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: Vec<Token<'a>>) -> Self {
        Self { tokens, next: 0, depth: 0, is_foreign: false }
    }

    pub(crate) fn file(mut self) -> Result<File> {
        let mut file = File::default();
        while self.peek().is_some() {
            self.item(&mut file)?;
        }
        Ok(file)
    }

    fn item(&mut self, file: &mut File) -> Result<()> {
        let line = self.line();
        let mut external = false;
        loop {
            match self.word()? {
                ".visible" | ".weak" | ".common" => {}
                ".extern" => external = true,
                ".version" | ".address_size" => {
                    self.word()?;
                    return Ok(());
                }
                ".target" => {
                    self.word()?;
                    while self.take(',') {
                        self.word()?;
                    }
                    return Ok(());
                }
                ".file" => {
                    let index = self.integer()?;
                    file.sources.push((index, self.text()?));
                    while self.take(',') {
                        self.word()?;
                    }
                    return Ok(());
                }
                ".section" => {
                    self.word()?;
                    return self.skip_braces();
                }
                ".pragma" => {
                    self.text()?;
                    return self.expect(';');
                }
                space @ (".global" | ".const" | ".shared") => {
                    let variable = self.declaration(space, external)?;
                    file.variables.push(variable);
                    return self.expect(';');
                }
                kind @ (".entry" | ".func") => {
                    let function = self.function(kind == ".entry")?;
                    file.functions.push(function);
                    return Ok(());
                }
                other => {
                    let what = format!("{other} is not supported");
                    return Err(ParseError { line, what });
                }
            }
        }
    }

    /// What follows `.global` and the like: `.align 4 .b8 name[4] = {1, 2}`.
    fn declaration(&mut self, space: &str, external: bool) -> Result<Declaration> {
        let line = self.line();
        let (mut align, mut element, mut lanes) = (0, 0, 1);
        let mut is_float = false;
        let name = loop {
            match self.word()? {
                ".align" => align = u64::from(self.integer()?),
                ".ptr" => {
                    // What a pointer that is a parameter points to.
                    while let Some(Kind::Word(
                        ".global" | ".shared" | ".const" | ".local" | ".generic",
                    )) = self.peek()
                    {
                        self.next += 1;
                    }
                    if self.peek() == Some(Kind::Word(".align")) {
                        self.next += 1;
                        self.integer()?;
                    }
                }
                ".attribute" => {
                    self.expect('(')?;
                    while !self.take(')') {
                        self.advance()?;
                    }
                }
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                kind if kind.starts_with('.') => {
                    is_float = kind.starts_with(".f");
                    element = size_of(&kind[1..])
                        .ok_or_else(|| self.wrong("not a type that is supported"))?;
                }
                name => break name.to_owned(),
            }
        };
        let mut count = Some(lanes);
        let mut open = false;
        while self.take('[') {
            if self.take(']') {
                open = true;
                continue;
            }
            let length = u64::from(self.integer()?);
            count = count.and_then(|count: u64| count.checked_mul(length));
            self.expect(']')?;
        }
        let mut values = Vec::new();
        if self.take('=') {
            self.values(&mut values)?;
        }
        if open {
            count = Some(values.len() as u64);
        }
        let bytes = count.and_then(|count| count.checked_mul(element));
        let bytes = bytes.filter(|bytes| *bytes <= u64::from(u32::MAX));
        let bytes = bytes.ok_or_else(|| self.wrong("too large"))?;
        let align = if align == 0 { (element * lanes).max(1) } else { align };
        if !align.is_power_of_two() || align > 1 << 20 {
            return Err(self.wrong("not an alignment"));
        }
        let space = space.trim_start_matches('.').to_owned();
        Ok(Declaration { line, space, external, align, name, element, is_float, bytes, values })
    }

    fn values(&mut self, values: &mut Vec<Value>) -> Result<()> {
        if self.take('{') {
            self.deeper()?;
            while !self.take('}') {
                self.values(values)?;
                self.take(',');
            }
            self.depth -= 1;
            return Ok(());
        }
        let value = match self.operand()? {
            Operand::Bits(bits) => Value::Bits(bits),
            Operand::Name(name) if name == "generic" => {
                self.expect('(')?;
                let name = self.word()?.to_owned();
                self.expect(')')?;
                let offset = self.offset()?;
                Value::Address(name, offset)
            }
            Operand::Name(name) => Value::Address(name, 0),
            Operand::Offset(name, offset) => Value::Address(name, offset),
            _ => return Err(self.wrong("not a first value that is supported")),
        };
        values.push(value);
        Ok(())
    }

    fn function(&mut self, kernel: bool) -> Result<Function> {
        let results = if !kernel && self.take('(') { self.parameters()? } else { Vec::new() };
        let line = self.line();
        let name = self.word()?.to_owned();
        let parameters = if self.take('(') { self.parameters()? } else { Vec::new() };
        let mut max_threads = None;
        let mut unsupported = None;
        let body = loop {
            if self.take(';') {
                break None;
            }
            if self.peek() == Some(Kind::Mark('{')) {
                break Some(self.body()?);
            }
            match self.word()? {
                ".maxntid" | ".reqntid" => {
                    let mut threads = u64::from(self.integer()?);
                    while self.take(',') {
                        threads = threads.saturating_mul(self.integer()?.into());
                    }
                    max_threads = u32::try_from(threads).ok();
                }
                ".minnctapersm" | ".maxnreg" | ".maxnctapersm" => {
                    self.integer()?;
                }
                ".noreturn" => {}
                other => {
                    let what = format!("{other} is not supported");
                    unsupported = Some(ParseError { line: self.line(), what });
                    let ends = |kind| matches!(kind, Kind::Mark('{' | ';'));
                    while self.peek().is_some_and(|kind| !ends(kind)) {
                        self.next += 1;
                    }
                }
            }
        };
        let body = body.map(|body| unsupported.map_or(body, Err));
        Ok(Function { name, line, kernel, results, parameters, max_threads, body })
    }

    /// What a function does. What is not understood there is an error of this function; but
    /// a word that is none of PTX is one of the file.
    fn body(&mut self) -> Result<std::result::Result<Vec<Statement>, ParseError>> {
        let (start, depth) = (self.next, self.depth);
        self.expect('{')?;
        let body = self.statements();
        match body {
            Err(error) if self.is_foreign => return Err(error),
            Err(_) => {
                (self.next, self.depth) = (start, depth);
                self.skip_braces()?;
            }
            Ok(_) => {}
        }
        Ok(body)
    }

    fn parameters(&mut self) -> Result<Vec<Declaration>> {
        let mut parameters = Vec::new();
        while !self.take(')') {
            let space = self.word()?;
            parameters.push(self.declaration(space, false)?);
            self.take(',');
        }
        Ok(parameters)
    }

    fn statements(&mut self) -> Result<Vec<Statement>> {
        self.deeper()?;
        let mut statements = Vec::new();
        while !self.take('}') {
            if self.take(';') {
                continue;
            }
            if self.take('{') {
                statements.push(Statement::Scope(self.statements()?));
            } else {
                self.statement(&mut statements)?;
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        let line = self.line();
        let guard = if self.take('@') {
            let negated = self.take('!');
            Some((self.word()?.to_owned(), negated))
        } else {
            None
        };
        let word = self.word()?;
        if guard.is_none() && self.take(':') {
            match self.peek() {
                Some(Kind::Word(".branchtargets")) => {
                    self.next += 1;
                    let mut targets = vec![self.word()?.to_owned()];
                    while self.take(',') {
                        targets.push(self.word()?.to_owned());
                    }
                    self.expect(';')?;
                    statements.push(Statement::Targets(word.to_owned(), targets));
                }
                // A prototype is for calls through a pointer, and says what its call says.
                Some(Kind::Word(".callprototype" | ".calltargets")) => {
                    while !self.take(';') {
                        self.advance()?;
                    }
                }
                _ => statements.push(Statement::Label(line, word.to_owned())),
            }
            return Ok(());
        }
        match word {
            ".loc" => {
                let own = (self.integer()?, self.integer()?);
                let mut inlined_at = None;
                while self.next < self.tokens.len() && self.line() == line {
                    let word = self.advance()?;
                    if word == Kind::Word("inlined_at") {
                        inlined_at = Some((self.integer()?, self.integer()?));
                    }
                }
                statements.push(Statement::Source(own, inlined_at));
                return Ok(());
            }
            ".reg" => statements.push(self.registers(line)?),
            ".local" | ".shared" | ".param" | ".global" | ".const" => {
                statements.push(Statement::Variable(self.declaration(word, false)?));
            }
            ".pragma" => {
                let text = self.text()?;
                if let Some(mask) = text.strip_prefix("used_bytes_mask ").and_then(number) {
                    statements.push(Statement::UsedBytes(mask));
                }
            }
            _ if word.starts_with('.') => {
                self.is_foreign = !DIRECTIVES.contains(&word);
                let what = format!("{word} is not supported");
                return Err(ParseError { line, what });
            }
            _ => {
                let name = word.to_owned();
                let operands = self.operands()?;
                let instruction = Instruction { line, guard, name, operands };
                statements.push(Statement::Instruction(instruction));
            }
        }
        self.expect(';')
    }

    /// What follows `.reg`.
    fn registers(&mut self, line: u32) -> Result<Statement> {
        let kind = self.word()?.trim_start_matches('.').to_owned();
        let mut names = Vec::new();
        loop {
            let name = self.word()?.to_owned();
            let count = if self.take('<') {
                let count = self.integer()?;
                self.expect('>')?;
                Some(count)
            } else {
                None
            };
            names.push((name, count));
            if !self.take(',') {
                return Ok(Statement::Registers { line, kind, names });
            }
        }
    }

    fn operands(&mut self) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        while self.peek() != Some(Kind::Mark(';')) {
            operands.push(self.operand()?);
            self.take(',');
        }
        Ok(operands)
    }

    fn operand(&mut self) -> Result<Operand> {
        self.deeper()?;
        let operand = self.operand_inside()?;
        self.depth -= 1;
        if self.take('|') {
            let other = self.operand()?;
            return Ok(Operand::Both(Box::new(operand), Box::new(other)));
        }
        Ok(operand)
    }

    fn operand_inside(&mut self) -> Result<Operand> {
        if self.take('{') {
            return Ok(Operand::Vector(self.list('}')?));
        }
        if self.take('(') {
            return Ok(Operand::List(self.list(')')?));
        }
        if self.take('[') {
            let base = self.operand()?;
            let (base, mut offset) = match base {
                Operand::Offset(name, offset) => (Operand::Name(name), offset),
                other => (other, 0),
            };
            offset = offset.wrapping_add(self.offset()?);
            self.take(',');
            let rest = self.list(']')?;
            return Ok(Operand::Memory(Box::new(base), offset, rest));
        }
        if self.take('!') {
            return Ok(Operand::Not(self.word()?.to_owned()));
        }
        if self.take('-') {
            let word = self.word()?;
            let bits = number(word).ok_or_else(|| self.wrong("not a number"))?;
            return Ok(Operand::Bits(bits.wrapping_neg()));
        }
        let word = self.word()?;
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            let bits = number(word).ok_or_else(|| self.wrong("not a number"))?;
            return Ok(Operand::Bits(bits));
        }
        match self.offset()? {
            0 => Ok(Operand::Name(word.to_owned())),
            offset => Ok(Operand::Offset(word.to_owned(), offset)),
        }
    }

    /// `+4`, `-4`, `+-4`, or nothing.
    fn offset(&mut self) -> Result<i64> {
        let plus = self.take('+');
        let minus = self.take('-');
        if !plus && !minus {
            return Ok(0);
        }
        let word = self.word()?;
        let bits = number(word).ok_or_else(|| self.wrong("not a number"))? as i64;
        Ok(if minus { bits.wrapping_neg() } else { bits })
    }

    fn list(&mut self, end: char) -> Result<Vec<Operand>> {
        let mut list = Vec::new();
        while !self.take(end) {
            list.push(self.operand()?);
            self.take(',');
        }
        Ok(list)
    }

    fn skip_braces(&mut self) -> Result<()> {
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.advance()? {
                Kind::Mark('{') => depth += 1,
                Kind::Mark('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("nested too deeply"));
        }
        Ok(())
    }

    fn peek(&self) -> Option<Kind<'a>> {
        Some(self.tokens.get(self.next)?.kind)
    }

    /// The line of the next token, or of the last.
    fn line(&self) -> u32 {
        let token = self.tokens.get(self.next).or(self.tokens.last());
        token.map_or(1, |token| token.line)
    }

    fn advance(&mut self) -> Result<Kind<'a>> {
        let Some(token) = self.tokens.get(self.next) else {
            let what = "the text ends in the middle".to_owned();
            return Err(ParseError { line: self.line(), what });
        };
        self.next += 1;
        Ok(token.kind)
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(Kind::Mark(mark));
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        let line = self.line();
        match self.advance()? {
            Kind::Mark(found) if found == mark => Ok(()),
            found => {
                let found = spelled(found);
                let what = format!("expected {mark}, found {found}");
                Err(ParseError { line, what })
            }
        }
    }

    fn word(&mut self) -> Result<&'a str> {
        let line = self.line();
        match self.advance()? {
            Kind::Word(word) => Ok(word),
            found => {
                let what = format!("expected a word, found {}", spelled(found));
                Err(ParseError { line, what })
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.advance()? {
            Kind::Text(text) => Ok(text.to_owned()),
            _ => Err(self.wrong("not a text in quotation marks")),
        }
    }

    fn integer(&mut self) -> Result<u32> {
        let word = self.word()?;
        let value = number(word).and_then(|number| u32::try_from(number).ok());
        value.ok_or_else(|| self.wrong("not a number that fits"))
    }

    /// An error about the token before.
    fn wrong(&self, what: &str) -> ParseError {
        let Some(token) = self.next.checked_sub(1).and_then(|at| self.tokens.get(at)) else {
            return ParseError { line: 1, what: what.to_owned() };
        };
        let what = format!("{}: {what}", spelled(token.kind));
        ParseError { line: token.line, what }
    }
}

fn spelled(kind: Kind<'_>) -> String {
    match kind {
        Kind::Word(word) => word.to_owned(),
        Kind::Text(text) => format!("\"{text}\""),
        Kind::Mark(mark) => mark.to_string(),
    }
}
