import { parse, type Expression, type Statement } from './parse.js';

/** What a program can use of Lua and Redis, and whether it always returns one value. */
const BUILTINS: Readonly<Record<string, 'one' | 'many'>> = {
  ...{ tonumber: 'one', tostring: 'one', type: 'one', error: 'one', assert: 'many', pcall: 'many' },
  ...{ select: 'many', unpack: 'many', ipairs: 'many', pairs: 'many' },
  ...{
    'string.format': 'one',
    'string.sub': 'one',
    'string.rep': 'one',
    'string.lower': 'one',
    'string.upper': 'one',
  },
  ...{
    'string.len': 'one',
    'string.char': 'one',
    'string.byte': 'many',
    'string.match': 'many',
    'string.find': 'many',
  },
  ...{ 'string.gsub': 'many', 'string.gmatch': 'one' },
  ...{ 'table.insert': 'one', 'table.remove': 'one', 'table.concat': 'one', 'table.sort': 'one' },
  ...{
    'math.max': 'one',
    'math.min': 'one',
    'math.floor': 'one',
    'math.ceil': 'one',
    'math.abs': 'one',
    'math.huge': 'one',
  },
  ...{
    'math.fmod': 'one',
    'cjson.encode': 'one',
    'cjson.decode': 'one',
    'cjson.null': 'one',
  },
  ...{ 'redis.call': 'one', 'redis.pcall': 'one', 'redis.error_reply': 'one', 'redis.status_reply': 'one' },
  ...{ 'redis.acl_check_cmd': 'one', 'redis.sha1hex': 'one' },
};
const LIBRARIES: ReadonlySet<string> = new Set(['string', 'table', 'math', 'cjson', 'redis']);
const COMPARED: ReadonlySet<string> = new Set(['==', '~=', '<', '>', '<=', '>=']);
const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '^']);

/** A local variable. */
interface Variable {
  readonly js: string;
  /** The builtin that it is another name of. */
  readonly builtin?: string | undefined;
  /** Whether it is a function that returns at most one value. */
  isSingle?: boolean;
}

/** What one function of the program has. */
interface Frame {
  readonly temps: string[];
}

/**
 * Translates a program of Lua 5.1 to the body of a JavaScript function with the parameters `L`, the runtime, and `KEYS` and
 * `ARGV`. Strings are texts of bytes, nil is undefined, and several values of a call are a `Multi`.
 *
 * @throws SyntaxError for what is no Lua, and for what is not supported
 */
export function translate(text: string): string {
  const program = parse(text);
  const generator = new Generator(program.assigned);
  const body = generator.main(program.body);
  const runtime = [
    'Table',
    'Multi',
    'one',
    'all',
    'ok',
    'num',
    'str',
    'len',
    'index',
    'field',
    'put',
    'less',
    'atMost',
    'mod',
    'table',
    'method',
    'entries',
    'unpacked',
    'missing',
  ];
  const builtins = [...generator.used].map(
    (name) => `const ${builtinName(name)} = L.builtins[${JSON.stringify(name)}];`,
  );
  return `"use strict";\nconst { ${runtime.join(', ')} } = L;\n${builtins.join('\n')}\n${body}`;
}

function builtinName(name: string): string {
  return `$${name.replace('.', '$')}`;
}

class Generator {
  readonly used = new Set<string>();
  private scopes: Map<string, Variable>[] = [];
  private frame: Frame = { temps: [] };
  private count = 0;

  constructor(private readonly assigned: ReadonlySet<string>) {}

  main(program: readonly Statement[]): string {
    this.scopes.push(
      new Map([
        ['KEYS', { js: 'KEYS' }],
        ['ARGV', { js: 'ARGV' }],
      ]),
    );
    return this.functionBody(program);
  }

  private functionBody(body: readonly Statement[], before = ''): string {
    const outer = this.frame;
    this.frame = { temps: [] };
    const code = this.block(body);
    const temps = this.frame.temps.length > 0 ? `let ${this.frame.temps.join(', ')};\n` : '';
    this.frame = outer;
    return `${temps}${before}${code}`;
  }

  private block(body: readonly Statement[]): string {
    return this.scoped(() => this.statements(body));
  }

  private statements(body: readonly Statement[]): string {
    return body.map((statement) => this.statement(statement)).join('\n');
  }

  private scoped<T>(action: () => T): T {
    this.scopes.push(new Map());
    const result = action();
    this.scopes.pop();
    return result;
  }

  private fresh(name: string): string {
    return `${name}$${(this.count += 1)}`;
  }

  private declare(name: string, extra: Omit<Variable, 'js'> = {}): Variable {
    const variable: Variable = { js: this.fresh(name), ...extra };
    this.scopes.at(-1)?.set(name, variable);
    return variable;
  }

  private temp(): string {
    const name = this.fresh('t');
    this.frame.temps.push(name);
    return name;
  }

  private find(name: string): Variable | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i]?.get(name);
      if (found) return found;
    }
    return undefined;
  }

  /** The builtin that an expression names. */
  private builtinOf(expression: Expression): string | undefined {
    if (expression.kind === 'name') {
      const variable = this.find(expression.name);
      if (variable) return variable.builtin;
      return Object.hasOwn(BUILTINS, expression.name) ? expression.name : undefined;
    }
    if (expression.kind !== 'index' || expression.of.kind !== 'name' || expression.key.kind !== 'string')
      return undefined;
    if (this.find(expression.of.name) || !LIBRARIES.has(expression.of.name)) return undefined;
    const name = `${expression.of.name}.${expression.key.value}`;
    if (!Object.hasOwn(BUILTINS, name)) throw new SyntaxError(`${name} is not supported`);
    return name;
  }

  private builtin(name: string): string {
    this.used.add(name);
    return builtinName(name);
  }

  private statement(statement: Statement): string {
    switch (statement.kind) {
      case 'local':
        return this.local(statement.names, statement.values);
      case 'local function': {
        const variable = this.declare(statement.name);
        const isSingle =
          !this.assigned.has(statement.name) && this.returnsOne(statement.value, statement.name);
        if (isSingle) variable.isSingle = true;
        return `let ${variable.js} = ${this.expression(statement.value)};`;
      }
      case 'assign':
        return this.assign(statement.targets, statement.values);
      case 'call':
        return `${this.call(statement.call)};`;
      case 'do':
        return `{\n${this.block(statement.body)}\n}`;
      case 'while':
        return `while (${this.condition(statement.condition)}) {\n${this.block(statement.body)}\n}`;
      case 'repeat':
        return this.scoped(
          () =>
            `for (;;) {\n${this.statements(statement.body)}\nif (${this.condition(statement.condition)}) break;\n}`,
        );
      case 'if':
        return this.branches(statement);
      case 'count':
        return this.counted(statement);
      case 'for':
        return this.iterated(statement.names, statement.values, statement.body);
      case 'return':
        return this.returned(statement.values);
      case 'break':
        return 'break;';
    }
  }

  private local(names: readonly string[], values: readonly Expression[]): string {
    const builtins = names.map((name, i) => {
      const value = values[i];
      return value && !this.assigned.has(name) ? this.builtinOf(value) : undefined;
    });
    const { before, list } = this.adjusted(values, names.length);
    const declared = names.map(
      (name, i) => `${this.declare(name, { builtin: builtins[i] }).js} = ${list[i]}`,
    );
    return `${before}let ${declared.join(', ')};`;
  }

  /** As many values as there are names; `before` is to run first. */
  private adjusted(values: readonly Expression[], wanted: number): { before: string; list: string[] } {
    const last = values.at(-1);
    const list = values.map(() => '');
    let before = '';
    values.forEach((value, i) => {
      if (i === values.length - 1 && last && wanted > values.length && this.isMany(last)) {
        const many = this.fresh('m');
        before = `const ${many} = all(${this.call(last)});\n`;
        for (let j = i; j < wanted; j++) list[j] = `${many}[${j - i}]`;
      } else list[i] = this.expression(value);
    });
    while (list.length < wanted) list.push('undefined');
    return { before, list };
  }

  private assign(targets: readonly Expression[], values: readonly Expression[]): string {
    const [target] = targets;
    const [value] = values;
    if (targets.length === 1 && values.length === 1 && target && value)
      return this.assignOne(target, this.expression(value));
    const before: string[] = [];
    const places = targets.map((one): Expression => {
      if (one.kind !== 'index') return one;
      return {
        kind: 'index',
        of: this.kept(one.of, before),
        key: one.key.kind === 'string' ? one.key : this.kept(one.key, before),
      };
    });
    const adjusted = this.adjusted(values, targets.length);
    before.push(adjusted.before);
    const kept = places.map((_, i) => {
      const name = this.fresh('v');
      before.push(`const ${name} = ${adjusted.list[i]};`);
      return name;
    });
    return `{\n${before.join('\n')}\n${places.map((place, i) => this.assignOne(place, kept[i] ?? 'undefined')).join('\n')}\n}`;
  }

  /** The value of an expression, kept in a constant before the assignment. */
  private kept(expression: Expression, before: string[]): Expression {
    if (expression.kind === 'number') return expression;
    const js = this.fresh('k');
    before.push(`const ${js} = ${this.expression(expression)};`);
    this.scopes.at(-1)?.set(js, { js });
    return { kind: 'name', name: js };
  }

  private assignOne(target: Expression, value: string): string {
    if (target.kind === 'name') {
      const variable = this.find(target.name);
      if (!variable) throw new SyntaxError(`assigns the global ${target.name}`);
      return `${variable.js} = ${value};`;
    }
    if (target.kind !== 'index') throw new SyntaxError('assigns to what is no variable');
    return `put(${this.expression(target.of)}, ${this.expression(target.key)}, ${value});`;
  }

  private branches({ branches, otherwise }: Extract<Statement, { kind: 'if' }>): string {
    const code = branches.map(
      ({ condition, body }) => `if (${this.condition(condition)}) {\n${this.block(body)}\n}`,
    );
    if (otherwise) code.push(`{\n${this.block(otherwise)}\n}`);
    return code.join(' else ');
  }

  private counted({ name, from, to, step, body }: Extract<Statement, { kind: 'count' }>): string {
    const [at, end, by] = [this.fresh('i'), this.fresh('e'), this.fresh('s')];
    const head = `let ${at} = ${this.number(from)}, ${end} = ${this.number(to)}, ${by} = ${step ? this.number(step) : '1'}`;
    const test = step ? `${by} > 0 ? ${at} <= ${end} : ${at} >= ${end}` : `${at} <= ${end}`;
    return this.scoped(() => {
      const { js } = this.declare(name);
      return `for (${head}; ${test}; ${at} += ${by}) {\nlet ${js} = ${at};\n${this.statements(body)}\n}`;
    });
  }

  private iterated(
    names: readonly string[],
    values: readonly Expression[],
    body: readonly Statement[],
  ): string {
    const [first] = values;
    const over = values.length === 1 && first?.kind === 'call' ? this.builtinOf(first.callee) : undefined;
    const table = over && first?.kind === 'call' && first.args[0] ? this.expression(first.args[0]) : '';
    if (over === 'ipairs') return this.overItems(table, names, body);
    if (over === 'pairs') {
      return this.scoped(() => {
        const declared = names.map((name) => this.declare(name).js);
        return `for (let [${declared.join(', ')}] of entries(${table})) {\n${this.statements(body)}\n}`;
      });
    }
    const [next, state, control, many] = ['f', 's', 'c', 'm'].map((name) => this.fresh(name));
    const { before, list } = this.adjusted(values, 3);
    return this.scoped(() => {
      const declared = names.map((name, i) => `${this.declare(name).js} = ${many}[${i}]`);
      const head = `let ${next} = ${list[0]}, ${state} = ${list[1]}, ${control} = ${list[2]}, ${many};`;
      const step = `${many} = all(${next}(${state}, ${control}));\nif (${many}[0] === undefined) break;\n${control} = ${many}[0];`;
      return `{\n${before}${head}\nfor (;;) {\n${step}\nlet ${declared.join(', ')};\n${this.statements(body)}\n}\n}`;
    });
  }

  private overItems(table: string, names: readonly string[], body: readonly Statement[]): string {
    const [of, at, item] = [this.fresh('t'), this.fresh('i'), this.fresh('v')];
    return this.scoped(() => {
      const values = [at, item];
      const declared = names.map((name, i) => `${this.declare(name).js} = ${values[i] ?? 'undefined'}`);
      const head = `let ${of} = ${table}, ${at} = 1, ${item}; (${item} = index(${of}, ${at})) !== undefined; ${at}++`;
      return `for (${head}) {\nlet ${declared.join(', ')};\n${this.statements(body)}\n}`;
    });
  }

  private returned(values: readonly Expression[]): string {
    const [first] = values;
    if (!first) return 'return;';
    if (values.length === 1 && first.kind !== 'varargs')
      return `return ${this.isMany(first) ? this.call(first) : this.expression(first)};`;
    return `return new Multi([${this.list(values)}]);`;
  }

  /** Whether an expression may be several values at the end of a list. */
  private isMany(expression: Expression): boolean {
    if (expression.kind === 'method') return true;
    if (expression.kind !== 'call') return false;
    const builtin = this.builtinOf(expression.callee);
    if (builtin) return BUILTINS[builtin] === 'many';
    const { callee } = expression;
    return !(callee.kind === 'name' && this.find(callee.name)?.isSingle === true);
  }

  /** Whether a function returns at most one value, also if it calls itself by this name. */
  private returnsOne(value: Expression, name: string): boolean {
    if (value.kind !== 'function') return false;
    const check = (body: readonly Statement[]): boolean =>
      body.every((statement) => {
        if (statement.kind === 'return') {
          const [only] = statement.values;
          if (statement.values.length > 1 || only?.kind === 'varargs') return false;
          if (only?.kind === 'call' && only.callee.kind === 'name' && only.callee.name === name) return true;
          return !only || !this.isMany(only);
        }
        if (statement.kind === 'if')
          return statement.branches.every((one) => check(one.body)) && check(statement.otherwise ?? []);
        return 'body' in statement ? check(statement.body) : true;
      });
    return check(value.body);
  }

  /** Expressions of a list, the last with all of its values. */
  private list(expressions: readonly Expression[]): string {
    return expressions
      .map((expression, i) => {
        if (i < expressions.length - 1) return this.expression(expression);
        if (expression.kind === 'varargs') return '...varargs';
        if (!this.isMany(expression)) return this.expression(expression);
        if (expression.kind === 'call' && this.builtinOf(expression.callee) === 'unpack')
          return `...unpacked(${this.list(expression.args)})`;
        return `...all(${this.call(expression)})`;
      })
      .join(', ');
  }

  /** A call with all of its values. */
  private call(expression: Expression): string {
    if (expression.kind === 'single') return this.call(expression.of);
    if (expression.kind === 'method') {
      const of = this.temp();
      const args = [of, ...(expression.args.length > 0 ? [this.list(expression.args)] : [])].join(', ');
      return `method(${of} = ${this.expression(expression.of)}, ${JSON.stringify(expression.name)})(${args})`;
    }
    if (expression.kind !== 'call') throw new SyntaxError(`calls ${expression.kind}`);
    const builtin = this.builtinOf(expression.callee);
    const callee = builtin === undefined ? this.expression(expression.callee) : this.builtin(builtin);
    return `${callee}(${this.list(expression.args)})`;
  }

  /** One value. */
  private expression(expression: Expression): string {
    switch (expression.kind) {
      case 'nil':
        return 'undefined';
      case 'true':
      case 'false':
        return expression.kind;
      case 'number':
        return String(expression.value);
      case 'string':
        return JSON.stringify(expression.value);
      case 'varargs':
        return 'varargs[0]';
      case 'name':
        return this.named(expression.name);
      case 'single':
        return this.expression(expression.of);
      case 'index':
        return this.indexed(expression);
      case 'call':
      case 'method':
        return this.isMany(expression) ? `one(${this.call(expression)})` : this.call(expression);
      case 'function':
        return this.functionOf(expression);
      case 'table':
        return this.table(expression);
      case 'unary':
        return this.unary(expression.op, expression.of);
      case 'binary':
        return this.binary(expression);
    }
  }

  private named(name: string): string {
    const variable = this.find(name);
    if (variable) return variable.builtin ? this.builtin(variable.builtin) : variable.js;
    if (Object.hasOwn(BUILTINS, name)) return this.builtin(name);
    // Fails when it is used, as on a server.
    return `missing(${JSON.stringify(name)})`;
  }

  private indexed(expression: Extract<Expression, { kind: 'index' }>): string {
    const builtin = this.builtinOf(expression);
    if (builtin) return this.builtin(builtin);
    const access = expression.key.kind === 'string' ? 'field' : 'index';
    return `${access}(${this.expression(expression.of)}, ${this.expression(expression.key)})`;
  }

  private functionOf({ params, varargs, body }: Extract<Expression, { kind: 'function' }>): string {
    return this.scoped(() => {
      const declared = params.map((name) => this.declare(name).js);
      if (varargs) declared.push('...varargs');
      return `((${declared.join(', ')}) => {\n${this.functionBody(body)}\n})`;
    });
  }

  private table({ items, fields }: Extract<Expression, { kind: 'table' }>): string {
    const made = items.length > 0 ? `table([${this.list(items)}])` : 'new Table()';
    return fields.reduce(
      (code, [key, value]) => `${code}.with(${this.expression(key)}, ${this.expression(value)})`,
      made,
    );
  }

  private unary(op: string, of: Expression): string {
    if (op === 'not') return `!${this.condition(of)}`;
    if (op === '#') return `len(${this.expression(of)})`;
    return `(-${this.number(of)})`;
  }

  private binary(expression: Extract<Expression, { kind: 'binary' }>): string {
    const { op, left, right } = expression;
    if (op === 'and' || op === 'or') {
      const of = this.temp();
      const test = `ok(${of} = ${this.expression(left)})`;
      return op === 'and'
        ? `(${test} ? ${this.expression(right)} : ${of})`
        : `(${test} ? ${of} : ${this.expression(right)})`;
    }
    if (op === '..') return `(${this.text(left)} + ${this.text(right)})`;
    if (op === '%') return `mod(${this.number(left)}, ${this.number(right)})`;
    if (op === '^') return `(${this.number(left)} ** ${this.number(right)})`;
    if (ARITHMETIC.has(op)) return `(${this.number(left)} ${op} ${this.number(right)})`;
    return this.compared(op, this.expression(left), this.expression(right));
  }

  private compared(op: string, left: string, right: string): string {
    switch (op) {
      case '==':
        return `(${left} === ${right})`;
      case '~=':
        return `(${left} !== ${right})`;
      case '<':
        return `less(${left}, ${right})`;
      case '<=':
        return `atMost(${left}, ${right})`;
      case '>':
        return `less(${right}, ${left})`;
      default:
        return `atMost(${right}, ${left})`;
    }
  }

  /** Whether an expression counts as true, as a JavaScript condition. */
  private condition(expression: Expression): string {
    if (expression.kind === 'single') return this.condition(expression.of);
    if (expression.kind === 'unary' && expression.op === 'not') return `!${this.condition(expression.of)}`;
    if (expression.kind === 'binary') {
      const { op, left, right } = expression;
      if (op === 'and') return `(${this.condition(left)} && ${this.condition(right)})`;
      if (op === 'or') return `(${this.condition(left)} || ${this.condition(right)})`;
      if (COMPARED.has(op)) return this.expression(expression);
    }
    return `ok(${this.expression(expression)})`;
  }

  private number(expression: Expression): string {
    const code = this.expression(expression);
    return this.isNumber(expression) ? code : `num(${code})`;
  }

  private isNumber(expression: Expression): boolean {
    if (expression.kind === 'number') return true;
    if (expression.kind === 'single') return this.isNumber(expression.of);
    if (expression.kind === 'unary') return expression.op !== 'not';
    if (expression.kind === 'binary') return ARITHMETIC.has(expression.op);
    return expression.kind === 'call' && (this.builtinOf(expression.callee)?.startsWith('math.') ?? false);
  }

  private text(expression: Expression): string {
    const isText =
      expression.kind === 'string' ||
      (expression.kind === 'binary' && expression.op === '..') ||
      (expression.kind === 'call' && this.builtinOf(expression.callee) === 'string.format');
    return isText ? this.expression(expression) : `str(${this.expression(expression)})`;
  }
}
