/** A pattern of Lua as a regular expression. */
interface Compiled {
  /** Matches at any place from `lastIndex` on. */
  readonly search: RegExp;
  /** Whether the pattern begins with `^`: it matches only where the search begins. */
  readonly isAnchored: boolean;
  readonly captures: number;
}

const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  c: '\\x00-\\x1f\\x7f',
  d: '0-9',
  l: 'a-z',
  p: '!-\\/:-@\\[-`{-~',
  s: ' \\t-\\r',
  u: 'A-Z',
  w: '0-9A-Za-z',
  x: '0-9A-Fa-f',
  z: '\\x00',
};
const known = new Map<string, Compiled>();

/** @throws SyntaxError for `%b`, `%f`, back references and position captures, which are not supported */
export function compiled(pattern: string): Compiled {
  const found = known.get(pattern) ?? compile(pattern);
  known.set(pattern, found);
  return found;
}

function compile(pattern: string): Compiled {
  const isAnchored = pattern.startsWith('^');
  let source = '';
  let captures = 0;
  for (let at = isAnchored ? 1 : 0; at < pattern.length;) {
    const char = pattern[at] ?? '';
    if (char === '(') {
      if (pattern[at + 1] === ')') throw new SyntaxError(`The pattern ${pattern} is not supported.`);
      captures += 1;
      source += '(';
      at += 1;
    } else if (char === ')') {
      source += ')';
      at += 1;
    } else if (char === '$' && at === pattern.length - 1) {
      source += '$';
      at += 1;
    } else {
      const [item, next] = single(pattern, at);
      const repeat = pattern[next];
      const isRepeat = repeat === '*' || repeat === '+' || repeat === '-' || repeat === '?';
      source += item + (isRepeat ? (repeat === '-' ? '*?' : repeat) : '');
      at = isRepeat ? next + 1 : next;
    }
  }
  return { search: new RegExp(source, isAnchored ? 'y' : 'g'), isAnchored, captures };
}

/** What matches one character, and where it ends. */
function single(pattern: string, at: number): [item: string, next: number] {
  const char = pattern[at] ?? '';
  if (char === '.') return ['[\\s\\S]', at + 1];
  if (char === '%') return [`[${escaped(pattern, at)}]`, at + 2];
  if (char !== '[') return [literal(char), at + 1];
  let from = at + 1;
  const isNegated = pattern[from] === '^';
  if (isNegated) from += 1;
  let set = '';
  // A bracket that comes first stands for itself.
  for (let first = true; first || pattern[from] !== ']'; first = false) {
    if (from >= pattern.length) throw new SyntaxError(`The pattern ${pattern} has no end of a set.`);
    if (pattern[from] === '%') {
      set += escaped(pattern, from);
      from += 2;
    } else if (pattern[from + 1] === '-' && pattern[from + 2] !== ']' && from + 2 < pattern.length) {
      set += `${inSet(pattern[from] ?? '')}-${inSet(pattern[from + 2] ?? '')}`;
      from += 3;
    } else {
      set += inSet(pattern[from] ?? '');
      from += 1;
    }
  }
  return [`[${isNegated ? '^' : ''}${set}]`, from + 1];
}

function escaped(pattern: string, at: number): string {
  const char = pattern[at + 1] ?? '';
  const lower = char.toLowerCase();
  const set = CLASSES[lower];
  if (set !== undefined && char === lower) return set;
  if (set !== undefined) return complement(set);
  if (/[a-zA-Z0-9]/.test(char)) throw new SyntaxError(`%${char} in the pattern ${pattern} is not supported.`);
  return inSet(char);
}

/** All other bytes: a set in a set can't be turned around. */
function complement(set: string): string {
  const pattern = new RegExp(`[${set}]`);
  let rest = '';
  for (let code = 0; code < 256; code++) {
    const char = String.fromCharCode(code);
    if (!pattern.test(char)) rest += inSet(char);
  }
  return rest;
}

function literal(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}

function inSet(char: string): string {
  return /[\\^\]\-[]/.test(char) ? `\\${char}` : char;
}
