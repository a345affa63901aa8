/** A name that a Lua text uses and does not declare. */
export interface FreeName {
  readonly name: string;
  readonly line: number;
  readonly isAssigned: boolean;
}

/** A local, a parameter or a variable of a loop. */
export interface DeclaredName {
  readonly name: string;
  readonly line: number;
  /** Whether the rest of the file, and of those that include it, can use it. */
  readonly isOutermost: boolean;
  readonly isUsed: boolean;
}

export interface LuaNames {
  readonly free: readonly FreeName[];
  readonly declared: readonly DeclaredName[];
}

/** @throws Error with the line, for a text that is no Lua 5.1 */
export function namesIn(text: string): LuaNames {
  return new NameReader(text).read();
}

interface Token {
  readonly kind: 'name' | 'keyword' | 'value' | 'symbol' | 'end';
  readonly text: string;
  readonly line: number;
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const TOKEN =
  /(?<skipped>\s+|--\[(=*)\[[^]*?\]\2\]|--[^\n]*)|(?<value>'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|\[(=*)\[[^]*?\]\4\]|0x[\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?<word>[A-Za-z_]\w*)|(?<symbol>\.\.\.|\.\.|[=~<>]=|[-+*/%^#=<>(){}[\];:,.])/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const found = TOKEN.exec(text);
    if (!found) throw new Error(`${line}: ${text.slice(at, at + 20)} is no Lua.`);
    const { value, word, symbol } = found.groups ?? {};
    if (word !== undefined) tokens.push({ kind: KEYWORDS.has(word) ? 'keyword' : 'name', text: word, line });
    else if (value !== undefined) tokens.push({ kind: 'value', text: value, line });
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol, line });
    line += found[0].split('\n').length - 1;
  }
  tokens.push({ kind: 'end', text: '', line });
  return tokens;
}

type Declared = { -readonly [key in keyof DeclaredName]: DeclaredName[key] };

const UNARY = new Set(['not', '-', '#']);
const BINARY = new Set('and or + - * / % ^ .. == ~= < <= > >='.split(' '));

/** Reads statements one after the other, and knows which names each block sees. */
class NameReader {
  readonly #tokens: readonly Token[];
  readonly #blocks: Map<string, Declared>[] = [];
  readonly #free: FreeName[] = [];
  readonly #declared: Declared[] = [];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  read(): LuaNames {
    this.#block();
    if (this.#next.kind !== 'end') this.#refuse();
    return { free: this.#free, declared: this.#declared };
  }

  get #next(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #refuse(): never {
    throw new Error(`${this.#next.line}: ${this.#next.text || 'the end'} is not expected.`);
  }

  #take(text?: string): Token {
    const token = this.#next;
    if (text !== undefined && (token.text !== text || token.kind === 'value')) this.#refuse();
    this.#at += 1;
    return token;
  }

  #is(text: string): boolean {
    return this.#next.text === text && this.#next.kind !== 'value';
  }

  #takeIf(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at += 1;
    return true;
  }

  #name(): Token {
    if (this.#next.kind !== 'name') this.#refuse();
    return this.#take();
  }

  #names(): Token[] {
    const names = [this.#name()];
    while (this.#takeIf(',')) names.push(this.#name());
    return names;
  }

  #declare({ text, line }: Token): void {
    const declared = { name: text, line, isOutermost: this.#blocks.length === 1, isUsed: false };
    this.#declared.push(declared);
    this.#blocks.at(-1)?.set(text, declared);
  }

  #use({ text, line }: Token, isAssigned = false): void {
    const declared = this.#blocks.findLast((block) => block.has(text))?.get(text);
    if (!declared) this.#free.push({ name: text, line, isAssigned });
    else if (!isAssigned) declared.isUsed = true;
  }

  /** `until` reads its condition inside the block. */
  #block(declared: readonly Token[] = [], isRepeated = false): void {
    this.#blocks.push(new Map());
    for (const name of declared) this.#declare(name);
    while (this.#next.kind !== 'end' && !['end', 'else', 'elseif', 'until'].some((word) => this.#is(word))) {
      this.#statement();
    }
    if (isRepeated) {
      this.#take('until');
      this.#expression();
    }
    this.#blocks.pop();
  }

  #statement(): void {
    const { text, kind } = this.#next;
    if (this.#takeIf(';')) return;
    if (kind !== 'keyword') return this.#assignmentOrCall();
    this.#take();
    if (text === 'local') this.#local();
    else if (text === 'if') this.#if();
    else if (text === 'while') this.#while();
    else if (text === 'for') this.#for();
    else if (text === 'do') this.#blockUntilEnd();
    else if (text === 'repeat') this.#block([], true);
    else if (text === 'return') this.#return();
    else if (text === 'function') this.#namedFunction();
    else if (text !== 'break') this.#refuse();
  }

  #blockUntilEnd(declared: readonly Token[] = []): void {
    this.#block(declared);
    this.#take('end');
  }

  #local(): void {
    if (this.#takeIf('function')) {
      this.#declare(this.#name());
      return this.#function();
    }
    const names = this.#names();
    if (this.#takeIf('=')) this.#expressions();
    for (const name of names) this.#declare(name);
  }

  #if(): void {
    do {
      this.#expression();
      this.#take('then');
      this.#block();
    } while (this.#takeIf('elseif'));
    if (this.#takeIf('else')) this.#block();
    this.#take('end');
  }

  #while(): void {
    this.#expression();
    this.#take('do');
    this.#blockUntilEnd();
  }

  #for(): void {
    const names = this.#names();
    if (!this.#takeIf('=')) this.#take('in');
    this.#expressions();
    this.#take('do');
    this.#blockUntilEnd(names);
  }

  #return(): void {
    const ends =
      this.#next.kind === 'end' || ['end', 'else', 'elseif', 'until', ';'].some((word) => this.#is(word));
    if (!ends) this.#expressions();
  }

  #namedFunction(): void {
    const name = this.#name();
    const isField = this.#is('.') || this.#is(':');
    this.#use(name, !isField);
    let isMethod = false;
    while (this.#is('.') || this.#is(':')) {
      isMethod = this.#take().text === ':';
      this.#name();
    }
    this.#function(isMethod);
  }

  #function(isMethod = false): void {
    const { line } = this.#take('(');
    const parameters: Token[] = isMethod ? [{ kind: 'name', text: 'self', line }] : [];
    while (!this.#is(')')) {
      if (!this.#takeIf('...')) parameters.push(this.#name());
      if (!this.#takeIf(',')) break;
    }
    this.#take(')');
    this.#blockUntilEnd(parameters);
  }

  #assignmentOrCall(): void {
    const targets: (Token | undefined)[] = [this.#suffixed(true)];
    while (this.#takeIf(',')) targets.push(this.#suffixed(true));
    const isCall = targets.length === 1 && targets[0] === undefined && !this.#is('=');
    if (!isCall) {
      this.#take('=');
      this.#expressions();
    }
    for (const target of targets) if (target) this.#use(target, true);
  }

  #expressions(): void {
    do this.#expression();
    while (this.#takeIf(','));
  }

  #expression(): void {
    do {
      while (UNARY.has(this.#next.text) && this.#next.kind !== 'value') this.#take();
      this.#simple();
    } while (this.#next.kind !== 'value' && BINARY.has(this.#next.text) && this.#take());
  }

  #simple(): void {
    if (this.#next.kind === 'value' || ['nil', 'true', 'false', '...'].some((word) => this.#is(word)))
      this.#take();
    else if (this.#is('{')) this.#table();
    else if (this.#takeIf('function')) this.#function();
    else this.#suffixed(false);
  }

  /** Returns the name of a plain variable, which the caller uses, if `isTarget`. */
  #suffixed(isTarget: boolean): Token | undefined {
    let plain: Token | undefined;
    if (this.#takeIf('(')) {
      this.#expression();
      this.#take(')');
    } else plain = this.#name();
    const root = plain;
    for (;;) {
      if (this.#is('.') || this.#is(':')) {
        this.#take();
        this.#name();
      } else if (this.#takeIf('[')) {
        this.#expression();
        this.#take(']');
      } else if (this.#is('(')) this.#arguments();
      else if (this.#is('{')) this.#table();
      else if (this.#next.kind === 'value' && /^['"[]/.test(this.#next.text)) this.#take();
      else break;
      plain = undefined;
    }
    if (plain && isTarget) return plain;
    if (root) this.#use(root);
    return undefined;
  }

  #arguments(): void {
    this.#take('(');
    if (!this.#is(')')) this.#expressions();
    this.#take(')');
  }

  #table(): void {
    this.#take('{');
    while (!this.#is('}')) {
      if (this.#takeIf('[')) {
        this.#expression();
        this.#take(']');
        this.#take('=');
      } else if (this.#next.kind === 'name' && this.#tokens[this.#at + 1]?.text === '=') {
        this.#take();
        this.#take('=');
      }
      this.#expression();
      if (!this.#takeIf(',') && !this.#takeIf(';')) break;
    }
    this.#take('}');
  }
}
