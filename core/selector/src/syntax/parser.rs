//! Tokens to a tree.
//!
//! A descent over the grammar. The limits are the reference's: nested rules of one kind and nested operations at most
//! 250 deep, so that what compiles here compiles there. Chains of `&&` and `||` become balanced trees, which keeps them
//! shallow and fixes the order in which their costs are counted.

use std::sync::Arc;

use crate::error::{CompileErrorKind, Mistake, SyntaxMistake};
use crate::stack::deeper;
use crate::syntax::lexer::{self, Kind, Token};
use crate::syntax::literal;
use crate::syntax::macros;
use crate::syntax::tree::{Element, EntryExpr, Expr, ExprKind, Field, Literal, NodeId, Source};

/// The longest expression, in code points.
const CODE_POINTS_MAX: usize = 100_000;
/// How deep rules and operations nest.
const DEPTH_MAX: u32 = 250;

const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Parses an expression and expands its macros.
pub(crate) fn parse(expression: &str) -> Result<(Expr, Source), Mistake> {
    if expression.chars().count() > CODE_POINTS_MAX {
        return Err(Mistake::limit(0, format!("the expression is longer than {CODE_POINTS_MAX} characters")));
    }
    let tokens = lexer::tokens(expression)?;
    let mut parser = Parser {
        text: expression,
        tokens,
        at: 0,
        source: Source::default(),
        nested: Nested::default(),
        variables: macros::Budget::default(),
    };
    let parsed = parser.expr()?;
    if parser.kind() != Kind::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    if parsed.depth > DEPTH_MAX {
        return Err(too_deep(0));
    }
    Ok((parsed.expr, parser.source))
}

fn too_deep(offset: u32) -> Mistake {
    Mistake::limit(offset, format!("the expression nests deeper than {DEPTH_MAX} levels"))
        .hint("bind parts of it with cel.bind, or combine conditions with &&")
}

/// How many rules of each recursive kind are open.
#[derive(Default)]
struct Nested {
    expr: u32,
    relation: u32,
    calc: u32,
}

/// A tree and how many operations nest in it.
struct Parsed {
    expr: Expr,
    depth: u32,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    source: Source,
    nested: Nested,
    variables: macros::Budget,
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> Kind {
        self.token().kind
    }

    fn kind_after(&self, distance: usize) -> Kind {
        self.tokens.get(self.at + distance).map_or(Kind::End, |token| token.kind)
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.at += 1;
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, kind: Kind, wanted: &str) -> Result<Token, Mistake> {
        if self.kind() == kind { Ok(self.advance()) } else { Err(self.unexpected(wanted)) }
    }

    fn text_of(&self, token: Token) -> &str {
        &self.text[token.start..token.stop]
    }

    fn unexpected(&self, wanted: &str) -> Mistake {
        let token = self.token();
        if token.kind == Kind::End {
            return Mistake::syntax(
                token.offset,
                format!("the expression ends too early, {wanted} is missing"),
            );
        }
        let found = self.text_of(token).to_owned();
        let mistake = Mistake::syntax(token.offset, format!("unexpected {found:?}, wanted {wanted}"));
        match found.as_str() {
            "and" => mistake.hint("combine conditions with &&"),
            "or" => mistake.hint("combine conditions with ||"),
            "not" => mistake.hint("negate with !"),
            _ => mistake,
        }
    }

    fn expr(&mut self) -> Result<Parsed, Mistake> {
        deeper(|| self.expr_here())
    }

    /// `expr : conditionalOr ('?' conditionalOr ':' expr)?`
    fn expr_here(&mut self) -> Result<Parsed, Mistake> {
        self.nested.expr += 1;
        if self.nested.expr > DEPTH_MAX {
            return Err(too_deep(self.token().offset));
        }
        let condition = self.conditional_or()?;
        let parsed = if self.kind() == Kind::Question {
            let offset = self.advance().offset;
            let id = self.source.new_id(offset);
            let yes = self.conditional_or()?;
            self.expect(Kind::Colon, "':' of the conditional")?;
            let no = self.expr()?;
            let depth = 1 + condition.depth.max(yes.depth).max(no.depth);
            self.limit(depth, offset)?;
            Parsed { expr: call(id, "_?_:_", vec![condition.expr, yes.expr, no.expr]), depth }
        } else {
            condition
        };
        self.nested.expr -= 1;
        Ok(parsed)
    }

    fn limit(&self, depth: u32, offset: u32) -> Result<(), Mistake> {
        if depth > DEPTH_MAX { Err(too_deep(offset)) } else { Ok(()) }
    }

    fn conditional_or(&mut self) -> Result<Parsed, Mistake> {
        let first = self.conditional_and()?;
        if self.kind() != Kind::Or {
            return Ok(first);
        }
        let mut depth = first.depth;
        let mut terms = vec![first.expr];
        let mut operators = Vec::new();
        while self.kind() == Kind::Or {
            let offset = self.advance().offset;
            let term = self.conditional_and()?;
            depth = depth.max(term.depth);
            terms.push(term.expr);
            operators.push(self.source.new_id(offset));
        }
        Ok(Parsed { expr: balanced("_||_", &operators, terms), depth })
    }

    fn conditional_and(&mut self) -> Result<Parsed, Mistake> {
        let first = self.relation()?;
        if self.kind() != Kind::And {
            return Ok(first);
        }
        let mut depth = first.depth;
        let mut terms = vec![first.expr];
        let mut operators = Vec::new();
        while self.kind() == Kind::And {
            let offset = self.advance().offset;
            let term = self.relation()?;
            depth = depth.max(term.depth);
            terms.push(term.expr);
            operators.push(self.source.new_id(offset));
        }
        Ok(Parsed { expr: balanced("_&&_", &operators, terms), depth })
    }

    /// Relations are left-associative and have one precedence.
    fn relation(&mut self) -> Result<Parsed, Mistake> {
        self.nested.relation += 1;
        if self.nested.relation > DEPTH_MAX {
            return Err(too_deep(self.token().offset));
        }
        let mut left = self.calc(0)?;
        while let Some(function) = relation_operator(self.kind()) {
            let offset = self.advance().offset;
            self.nested.relation += 1;
            if self.nested.relation > DEPTH_MAX {
                return Err(too_deep(offset));
            }
            let id = self.source.new_id(offset);
            let right = self.calc(0)?;
            self.nested.relation -= 1;
            let depth = 1 + left.depth.max(right.depth);
            self.limit(depth, offset)?;
            left = Parsed { expr: call(id, function, vec![left.expr, right.expr]), depth };
        }
        self.nested.relation -= 1;
        Ok(left)
    }

    /// Arithmetic by precedence: 1 is `+ -`, 2 is `* / %`.
    fn calc(&mut self, minimum: u32) -> Result<Parsed, Mistake> {
        self.nested.calc += 1;
        if self.nested.calc > DEPTH_MAX {
            return Err(too_deep(self.token().offset));
        }
        let mut left = self.unary()?;
        while let Some((function, precedence)) = calc_operator(self.kind()) {
            if precedence <= minimum {
                break;
            }
            let offset = self.advance().offset;
            let id = self.source.new_id(offset);
            let right = self.calc(precedence)?;
            let depth = 1 + left.depth.max(right.depth);
            self.limit(depth, offset)?;
            left = Parsed { expr: call(id, function, vec![left.expr, right.expr]), depth };
        }
        self.nested.calc -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Parsed, Mistake> {
        let (operator, function) = match self.kind() {
            Kind::Not => (Kind::Not, "!_"),
            // A minus before a number belongs to the number.
            Kind::Minus if !matches!(self.kind_after(1), Kind::Int | Kind::Float) => (Kind::Minus, "-_"),
            _ => return self.member(),
        };
        let offset = self.token().offset;
        let mut count = 0u32;
        while self.eat(operator) {
            count += 1;
        }
        if count.is_multiple_of(2) {
            return self.member();
        }
        let id = self.source.new_id(offset);
        let operand = self.member()?;
        Ok(Parsed { expr: call(id, function, vec![operand.expr]), depth: operand.depth })
    }

    fn member(&mut self) -> Result<Parsed, Mistake> {
        let mut operand = self.primary()?;
        loop {
            let offset = self.token().offset;
            operand = match self.kind() {
                Kind::Dot => self.select(operand)?,
                Kind::LeftBracket => self.index(operand)?,
                _ => return Ok(operand),
            };
            self.limit(operand.depth, offset)?;
        }
    }

    fn select(&mut self, operand: Parsed) -> Result<Parsed, Mistake> {
        let dot = self.advance();
        let optional = self.eat(Kind::Question);
        let name = self.advance();
        let field: Arc<str> = match name.kind {
            Kind::Ident => Arc::from(self.text_of(name)),
            Kind::Escaped => Arc::from(self.text_of(name).trim_matches('`')),
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a field or function name"));
            }
        };
        if name.kind == Kind::Ident && !optional && self.kind() == Kind::LeftParen {
            return self.member_call(operand, field);
        }
        let depth = operand.depth + 1;
        let id = self.source.new_id(dot.offset);
        if optional {
            let literal =
                Expr { id: self.source.new_id(name.offset), kind: ExprKind::Literal(Literal::String(field)) };
            return Ok(Parsed { expr: call(id, "_?._", vec![operand.expr, literal]), depth });
        }
        let kind = ExprKind::Select { operand: Box::new(operand.expr), field, test_only: false };
        Ok(Parsed { expr: Expr { id, kind }, depth })
    }

    fn member_call(&mut self, target: Parsed, function: Arc<str>) -> Result<Parsed, Mistake> {
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let (args, args_depth) = self.arguments()?;
        let depth = 1 + target.depth.max(args_depth);
        let expr = self.expanded(id, Some(target.expr), function, args)?;
        Ok(Parsed { expr, depth })
    }

    fn index(&mut self, operand: Parsed) -> Result<Parsed, Mistake> {
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let function = if self.eat(Kind::Question) { "_[?_]" } else { "_[_]" };
        let key = self.expr()?;
        self.expect(Kind::RightBracket, "']'")?;
        let depth = 1 + operand.depth.max(key.depth);
        Ok(Parsed { expr: call(id, function, vec![operand.expr, key.expr]), depth })
    }

    /// The arguments up to the closing parenthesis.
    fn arguments(&mut self) -> Result<(Vec<Expr>, u32), Mistake> {
        let mut args = Vec::new();
        let mut depth = 0;
        if self.eat(Kind::RightParen) {
            return Ok((args, depth));
        }
        loop {
            let arg = self.expr()?;
            depth = depth.max(arg.depth);
            args.push(arg.expr);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RightParen, "',' or ')'")?;
        Ok((args, depth))
    }

    fn expanded(
        &mut self,
        id: NodeId,
        target: Option<Expr>,
        function: Arc<str>,
        args: Vec<Expr>,
    ) -> Result<Expr, Mistake> {
        macros::expand(&mut self.source, &mut self.variables, id, target, function, args)
    }

    fn primary(&mut self) -> Result<Parsed, Mistake> {
        let token = self.token();
        match token.kind {
            Kind::LeftParen => {
                self.at += 1;
                let inner = self.expr()?;
                self.expect(Kind::RightParen, "')'")?;
                Ok(inner)
            }
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.map(),
            Kind::Dot | Kind::Ident => self.name(),
            _ => self.constant(),
        }
    }

    fn constant(&mut self) -> Result<Parsed, Mistake> {
        let negative = self.kind() == Kind::Minus && matches!(self.kind_after(1), Kind::Int | Kind::Float);
        let offset = self.token().offset;
        if negative {
            self.at += 1;
        }
        let token = self.token();
        let text = self.text_of(token);
        let value = match token.kind {
            Kind::Int => literal::int(text, negative, offset)?,
            Kind::Float => literal::double(text, negative, offset)?,
            Kind::Uint => literal::uint(text, offset)?,
            Kind::String => literal::string(text, offset)?,
            Kind::Bytes => literal::bytes(text, offset)?,
            Kind::True => Literal::Bool(true),
            Kind::False => Literal::Bool(false),
            Kind::Null => Literal::Null,
            _ => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        let id = self.source.new_id(offset);
        Ok(Parsed { expr: Expr { id, kind: ExprKind::Literal(value) }, depth: 0 })
    }

    /// A variable, a function call or a message.
    fn name(&mut self) -> Result<Parsed, Mistake> {
        if let Some(message) = self.message()? {
            return Ok(message);
        }
        let leading_dot = self.eat(Kind::Dot);
        let token = self.expect(Kind::Ident, "a name")?;
        let word = self.text_of(token).to_owned();
        if RESERVED.contains(&word.as_str()) {
            let kind = CompileErrorKind::Syntax(SyntaxMistake::Reserved);
            return Err(Mistake::new(kind, token.offset, format!("{word:?} is a reserved word"))
                .hint("choose another name; a field of this name can be selected with .name"));
        }
        let name: Arc<str> = if leading_dot { Arc::from(format!(".{word}")) } else { Arc::from(word) };
        if self.kind() != Kind::LeftParen {
            let id = self.source.new_id(token.offset);
            return Ok(Parsed { expr: Expr { id, kind: ExprKind::Ident(name) }, depth: 0 });
        }
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let (args, depth) = self.arguments()?;
        let expr = self.expanded(id, None, name, args)?;
        Ok(Parsed { expr, depth })
    }

    /// `a.b.C{field: value}`; looks ahead for the brace before it takes anything.
    fn message(&mut self) -> Result<Option<Parsed>, Mistake> {
        let mut ahead = usize::from(self.kind() == Kind::Dot);
        while self.kind_after(ahead) == Kind::Ident && self.kind_after(ahead + 1) == Kind::Dot {
            ahead += 2;
        }
        if self.kind_after(ahead) != Kind::Ident || self.kind_after(ahead + 1) != Kind::LeftBrace {
            return Ok(None);
        }
        let mut name = String::new();
        for _ in 0..=ahead {
            let token = self.advance();
            name.push_str(&self.text[token.start..token.stop]);
        }
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let mut fields = Vec::new();
        let mut depth = 0;
        while !matches!(self.kind(), Kind::RightBrace | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let token = self.advance();
            if !matches!(token.kind, Kind::Ident | Kind::Escaped) {
                self.at -= 1;
                return Err(self.unexpected("a field name"));
            }
            let field = Arc::from(self.text_of(token).trim_matches('`'));
            let colon = self.expect(Kind::Colon, "':' and the field's value")?;
            let field_id = self.source.new_id(colon.offset);
            let value = self.expr()?;
            depth = depth.max(value.depth);
            fields.push(Field { id: field_id, name: field, value: value.expr, optional });
            if !(self.kind() == Kind::Comma && self.kind_after(1) != Kind::RightBrace) {
                break;
            }
            self.at += 1;
        }
        self.eat(Kind::Comma);
        self.expect(Kind::RightBrace, "',' or '}'")?;
        let kind = ExprKind::Struct { name: Arc::from(name), fields };
        Ok(Some(Parsed { expr: Expr { id, kind }, depth }))
    }

    fn list(&mut self) -> Result<Parsed, Mistake> {
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let mut elements = Vec::new();
        let mut depth = 0;
        while !matches!(self.kind(), Kind::RightBracket | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let value = self.expr()?;
            depth = depth.max(value.depth);
            elements.push(Element { value: value.expr, optional });
            if !(self.kind() == Kind::Comma && self.kind_after(1) != Kind::RightBracket) {
                break;
            }
            self.at += 1;
        }
        self.eat(Kind::Comma);
        self.expect(Kind::RightBracket, "',' or ']'")?;
        Ok(Parsed { expr: Expr { id, kind: ExprKind::List(elements) }, depth })
    }

    fn map(&mut self) -> Result<Parsed, Mistake> {
        let open = self.advance();
        let id = self.source.new_id(open.offset);
        let mut entries = Vec::new();
        let mut depth = 0;
        while !matches!(self.kind(), Kind::RightBrace | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let key = self.expr()?;
            self.expect(Kind::Colon, "':' and the entry's value")?;
            let value = self.expr()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push(EntryExpr { key: key.expr, value: value.expr, optional });
            if !(self.kind() == Kind::Comma && self.kind_after(1) != Kind::RightBrace) {
                break;
            }
            self.at += 1;
        }
        self.eat(Kind::Comma);
        self.expect(Kind::RightBrace, "',' or '}'")?;
        Ok(Parsed { expr: Expr { id, kind: ExprKind::Map(entries) }, depth })
    }
}

/// A call of a global function.
pub(crate) fn call(id: NodeId, function: &str, args: Vec<Expr>) -> Expr {
    Expr { id, kind: ExprKind::Call { target: None, function: Arc::from(function), args } }
}

fn relation_operator(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Less => Some("_<_"),
        Kind::LessEquals => Some("_<=_"),
        Kind::Greater => Some("_>_"),
        Kind::GreaterEquals => Some("_>=_"),
        Kind::Equals => Some("_==_"),
        Kind::NotEquals => Some("_!=_"),
        Kind::In => Some("@in"),
        _ => None,
    }
}

fn calc_operator(kind: Kind) -> Option<(&'static str, u32)> {
    match kind {
        Kind::Plus => Some(("_+_", 1)),
        Kind::Minus => Some(("_-_", 1)),
        Kind::Star => Some(("_*_", 2)),
        Kind::Slash => Some(("_/_", 2)),
        Kind::Percent => Some(("_%_", 2)),
        _ => None,
    }
}

/// A chain of one logical operator as a balanced tree.
fn balanced(function: &str, operators: &[NodeId], terms: Vec<Expr>) -> Expr {
    let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
    subtree(function, operators, &mut terms, 0, operators.len() - 1)
}

fn subtree(
    function: &str,
    operators: &[NodeId],
    terms: &mut [Option<Expr>],
    low: usize,
    high: usize,
) -> Expr {
    let middle = (low + high).div_ceil(2);
    let left = if middle == low {
        terms[middle].take().expect("each term is taken once")
    } else {
        subtree(function, operators, terms, low, middle - 1)
    };
    let right = if middle == high {
        terms[middle + 1].take().expect("each term is taken once")
    } else {
        subtree(function, operators, terms, middle + 1, high)
    };
    call(operators[middle], function, vec![left, right])
}
