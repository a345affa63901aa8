import { tokensOf, type Token } from './tokens.js';

export type Expression =
  | { readonly kind: 'nil' | 'true' | 'false' | 'varargs' }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly of: Expression; readonly key: Expression }
  | { readonly kind: 'call'; readonly callee: Expression; readonly args: Expression[]; readonly line: number }
  | {
      readonly kind: 'method';
      readonly of: Expression;
      readonly name: string;
      readonly args: Expression[];
      readonly line: number;
    }
  | {
      readonly kind: 'function';
      readonly params: string[];
      readonly varargs: boolean;
      readonly body: Statement[];
    }
  | { readonly kind: 'binary'; readonly op: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'unary'; readonly op: string; readonly of: Expression }
  | { readonly kind: 'table'; readonly items: Expression[]; readonly fields: [Expression, Expression][] }
  /** In parentheses: one value of a call. */
  | { readonly kind: 'single'; readonly of: Expression };

export type Statement =
  | { readonly kind: 'local'; readonly names: string[]; readonly values: Expression[] }
  | { readonly kind: 'local function'; readonly name: string; readonly value: Expression }
  | { readonly kind: 'assign'; readonly targets: Expression[]; readonly values: Expression[] }
  | { readonly kind: 'call'; readonly call: Expression }
  | { readonly kind: 'do'; readonly body: Statement[] }
  | { readonly kind: 'while'; readonly condition: Expression; readonly body: Statement[] }
  | { readonly kind: 'repeat'; readonly condition: Expression; readonly body: Statement[] }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: Expression; readonly body: Statement[] }[];
      readonly otherwise: Statement[] | undefined;
    }
  | {
      readonly kind: 'count';
      readonly name: string;
      readonly from: Expression;
      readonly to: Expression;
      readonly step: Expression | undefined;
      readonly body: Statement[];
    }
  | {
      readonly kind: 'for';
      readonly names: string[];
      readonly values: Expression[];
      readonly body: Statement[];
    }
  | { readonly kind: 'return'; readonly values: Expression[] }
  | { readonly kind: 'break' };

/** How strongly operators bind to what is left and right of them; `..` and `^` from the right. */
const BINDING: Readonly<Record<string, readonly [left: number, right: number]>> = {
  or: [1, 1],
  and: [2, 2],
  ...{ '<': [3, 3], '>': [3, 3], '<=': [3, 3], '>=': [3, 3], '~=': [3, 3], '==': [3, 3] },
  '..': [5, 4],
  ...{ '+': [6, 6], '-': [6, 6] },
  ...{ '*': [7, 7], '/': [7, 7], '%': [7, 7] },
  '^': [10, 9],
};
const UNARY_BINDING = 8;
const BLOCK_ENDS: ReadonlySet<string> = new Set(['end', 'else', 'elseif', 'until', '']);

/** A program, and what its translation has to know of the whole. */
export interface LuaProgram {
  readonly body: readonly Statement[];
  /** Names that are assigned somewhere: locals with such a name are no constants. */
  readonly assigned: ReadonlySet<string>;
}

/** Parses a program of Lua 5.1. @throws SyntaxError */
export function parse(text: string): LuaProgram {
  const parser = new Parser(tokensOf(text));
  return { body: parser.program(), assigned: parser.assigned };
}

class Parser {
  readonly assigned = new Set<string>();
  private at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  program(): Statement[] {
    const body = this.block();
    if (this.token.type !== 'end') throw this.unexpected();
    return body;
  }

  private get token(): Token {
    return this.tokens[this.at] as Token;
  }

  private is(text: string): boolean {
    const { type } = this.token;
    return type === 'symbol' && this.token.text === text;
  }

  private accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.at += 1;
    return true;
  }

  private expect(text: string): void {
    if (!this.accept(text)) throw this.unexpected(text);
  }

  private name(): string {
    const { type, text } = this.token;
    if (type !== 'name') throw this.unexpected('a name');
    this.at += 1;
    return text;
  }

  private unexpected(wanted?: string): SyntaxError {
    const { line, text, type } = this.token;
    const got = type === 'end' ? 'the end' : `"${text}"`;
    return new SyntaxError(
      `line ${line}: ${wanted === undefined ? `unexpected ${got}` : `expected ${wanted}, got ${got}`}`,
    );
  }

  private block(): Statement[] {
    const body: Statement[] = [];
    while (!(
      this.token.type === 'end' ||
      (this.token.type === 'symbol' && BLOCK_ENDS.has(this.token.text))
    )) {
      const statement = this.statement();
      if (statement) body.push(statement);
      this.accept(';');
      if (statement?.kind === 'return' || statement?.kind === 'break') break;
    }
    return body;
  }

  private blockUntilEnd(): Statement[] {
    const body = this.block();
    this.expect('end');
    return body;
  }

  private statement(): Statement | undefined {
    if (this.accept(';')) return undefined;
    if (this.accept('local')) return this.local();
    if (this.accept('if')) return this.condition();
    if (this.accept('for')) return this.loop();
    if (this.accept('return')) return this.returned();
    if (this.accept('break')) return { kind: 'break' };
    if (this.accept('do')) return { kind: 'do', body: this.blockUntilEnd() };
    if (this.accept('function')) return this.namedFunction();
    if (this.accept('while')) {
      const condition = this.expression();
      this.expect('do');
      return { kind: 'while', condition, body: this.blockUntilEnd() };
    }
    if (this.accept('repeat')) {
      const body = this.block();
      this.expect('until');
      return { kind: 'repeat', body, condition: this.expression() };
    }
    return this.callOrAssignment();
  }

  private local(): Statement {
    if (this.accept('function')) {
      const name = this.name();
      return { kind: 'local function', name, value: this.functionBody() };
    }
    const names = [this.name()];
    while (this.accept(',')) names.push(this.name());
    return { kind: 'local', names, values: this.accept('=') ? this.expressions() : [] };
  }

  private namedFunction(): Statement {
    let target: Expression = { kind: 'name', name: this.name() };
    while (this.accept('.'))
      target = { kind: 'index', of: target, key: { kind: 'string', value: this.name() } };
    return this.assignment([target], [this.functionBody()]);
  }

  private condition(): Statement {
    const branches: { condition: Expression; body: Statement[] }[] = [];
    do {
      const condition = this.expression();
      this.expect('then');
      branches.push({ condition, body: this.block() });
    } while (this.accept('elseif'));
    const otherwise = this.accept('else') ? this.block() : undefined;
    this.expect('end');
    return { kind: 'if', branches, otherwise };
  }

  private loop(): Statement {
    const first = this.name();
    if (this.accept('=')) {
      const from = this.expression();
      this.expect(',');
      const to = this.expression();
      const step = this.accept(',') ? this.expression() : undefined;
      this.expect('do');
      return { kind: 'count', name: first, from, to, step, body: this.blockUntilEnd() };
    }
    const names = [first];
    while (this.accept(',')) names.push(this.name());
    this.expect('in');
    const values = this.expressions();
    this.expect('do');
    return { kind: 'for', names, values, body: this.blockUntilEnd() };
  }

  private returned(): Statement {
    const ends =
      this.token.type === 'end' ||
      this.is(';') ||
      (this.token.type === 'symbol' && BLOCK_ENDS.has(this.token.text));
    return { kind: 'return', values: ends ? [] : this.expressions() };
  }

  private callOrAssignment(): Statement {
    const first = this.suffixed();
    if (first.kind === 'call' || first.kind === 'method') {
      if (!this.is('=') && !this.is(',')) return { kind: 'call', call: first };
    }
    const targets = [first];
    while (this.accept(',')) targets.push(this.suffixed());
    this.expect('=');
    return this.assignment(targets, this.expressions());
  }

  private assignment(targets: Expression[], values: Expression[]): Statement {
    for (const target of targets) if (target.kind === 'name') this.assigned.add(target.name);
    return { kind: 'assign', targets, values };
  }

  private expressions(): Expression[] {
    const list = [this.expression()];
    while (this.accept(',')) list.push(this.expression());
    return list;
  }

  private expression(limit = 0): Expression {
    let left = this.operand();
    for (;;) {
      const { type, text } = this.token;
      const binding = type === 'symbol' ? BINDING[text] : undefined;
      if (!binding || binding[0] <= limit) return left;
      this.at += 1;
      left = { kind: 'binary', op: text, left, right: this.expression(binding[1]) };
    }
  }

  private operand(): Expression {
    for (const op of ['not', '-', '#']) {
      if (this.accept(op)) return { kind: 'unary', op, of: this.expression(UNARY_BINDING) };
    }
    const { type, text } = this.token;
    if (type === 'number' || type === 'string') {
      this.at += 1;
      return type === 'number' ? { kind: 'number', value: Number(text) } : { kind: 'string', value: text };
    }
    for (const kind of ['nil', 'true', 'false'] as const) if (this.accept(kind)) return { kind };
    if (this.accept('...')) return { kind: 'varargs' };
    if (this.accept('function')) return this.functionBody();
    if (this.is('{')) return this.table();
    return this.suffixed();
  }

  private suffixed(): Expression {
    let of = this.primary();
    for (;;) {
      const { line } = this.token;
      if (this.accept('.')) of = { kind: 'index', of, key: { kind: 'string', value: this.name() } };
      else if (this.accept('[')) {
        of = { kind: 'index', of, key: this.expression() };
        this.expect(']');
      } else if (this.accept(':')) of = { kind: 'method', of, name: this.name(), args: this.args(), line };
      else if (this.is('(') || this.is('{') || this.token.type === 'string')
        of = { kind: 'call', callee: of, args: this.args(), line };
      else return of;
    }
  }

  private primary(): Expression {
    if (!this.accept('(')) return { kind: 'name', name: this.name() };
    const of = this.expression();
    this.expect(')');
    return { kind: 'single', of };
  }

  private args(): Expression[] {
    const { type, text } = this.token;
    if (type === 'string') {
      this.at += 1;
      return [{ kind: 'string', value: text }];
    }
    if (this.is('{')) return [this.table()];
    this.expect('(');
    if (this.accept(')')) return [];
    const args = this.expressions();
    this.expect(')');
    return args;
  }

  private functionBody(): Expression {
    this.expect('(');
    const params: string[] = [];
    let varargs = false;
    if (!this.is(')')) {
      do {
        varargs = this.accept('...');
        if (!varargs) params.push(this.name());
      } while (!varargs && this.accept(','));
    }
    this.expect(')');
    return { kind: 'function', params, varargs, body: this.blockUntilEnd() };
  }

  private table(): Expression {
    this.expect('{');
    const items: Expression[] = [];
    const fields: [Expression, Expression][] = [];
    while (!this.is('}')) {
      if (this.accept('[')) {
        const key = this.expression();
        this.expect(']');
        this.expect('=');
        fields.push([key, this.expression()]);
      } else if (
        this.token.type === 'name' &&
        this.tokens[this.at + 1]?.text === '=' &&
        this.tokens[this.at + 1]?.type === 'symbol'
      ) {
        const key: Expression = { kind: 'string', value: this.name() };
        this.expect('=');
        fields.push([key, this.expression()]);
      } else items.push(this.expression());
      if (!this.accept(',') && !this.accept(';')) break;
    }
    this.expect('}');
    return { kind: 'table', items, fields };
  }
}
