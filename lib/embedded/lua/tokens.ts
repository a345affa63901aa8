/** A piece of a Lua program. Names, keywords and operators are their own text. */
export interface Token {
  readonly type: 'name' | 'number' | 'string' | 'symbol' | 'end';
  readonly text: string;
  readonly line: number;
}

const KEYWORDS: ReadonlySet<string> = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const SPACE = /(?:[ \t\r\n]+|--\[\[[\s\S]*?\]\]|--[^\n]*)+/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y;
const LONG_STRING = /\[\[\n?([\s\S]*?)\]\]/y;
const SYMBOL = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y;

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' },
};

/** @throws SyntaxError */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return undefined;
    at += found[0].length;
    return found;
  };
  const add = (type: Token['type'], piece: string) => tokens.push({ type, text: piece, line });
  for (;;) {
    const from = at;
    take(SPACE);
    line += lines(text, from, at);
    if (at >= text.length) break;
    const begin = at;
    const name = take(NAME);
    const number = name ? undefined : take(NUMBER);
    const quoted = name || number ? undefined : take(STRING);
    const long = name || number || quoted ? undefined : take(LONG_STRING);
    const symbol = name || number || quoted || long ? undefined : take(SYMBOL);
    if (name) add(KEYWORDS.has(name[0]) ? 'symbol' : 'name', name[0]);
    else if (number) add('number', number[0]);
    else if (quoted) add('string', unquoted(quoted[0]));
    else if (long) add('string', long[1] ?? '');
    else if (symbol) add('symbol', symbol[0]);
    else throw new SyntaxError(`line ${line}: unexpected "${text.slice(at, at + 10)}"`);
    line += lines(text, begin, at);
  }
  add('end', '');
  return tokens;
}

function lines(text: string, from: number, to: number): number {
  let count = 0;
  for (let i = text.indexOf('\n', from); i >= 0 && i < to; i = text.indexOf('\n', i + 1)) count += 1;
  return count;
}

function unquoted(text: string): string {
  return text
    .slice(1, -1)
    .replace(/\\(\d{1,3}|[\s\S])/g, (_, escaped: string) =>
      /^\d/.test(escaped) ? String.fromCharCode(Number(escaped)) : (ESCAPES[escaped] ?? escaped),
    );
}
