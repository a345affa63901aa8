/** A value as an ini file types it: `true`, `false` and `null` unless quoted; a key alone is `true`. */
export type IniValue = string | boolean | null;

export type IniSection = ReadonlyMap<string, IniValue>;

export interface IniFile {
  /** The lines before the first section. */
  readonly top: IniSection;
  readonly sections: ReadonlyMap<string, IniSection>;
}

/**
 * Reads the dialect of existing configuration files: `;` and `#` begin a comment even inside a value, unless
 * escaped by `\` or in a value that is quoted as a whole.
 *
 * Not the `ini` package: it reads the quoted password "null" as no password, splits sections at dots,
 * drops keys such as `__proto__`, and its maintained versions don't run on Node 20.
 */
export function parseIni(text: string): IniFile {
  const top = new Map<string, IniValue>();
  const sections = new Map<string, Map<string, IniValue>>();
  let current = top;
  for (const line of text.replace(/^\uFEFF/, '').split(/[\r\n]+/)) {
    const trimmed = line.trim();
    if (trimmed === '' || /^[;#]/.test(trimmed)) continue;
    const section = /^\[([^\]]*)\]\s*(?:[;#].*)?$/.exec(trimmed);
    if (section) {
      const name = (section[1] ?? '').trim();
      current = sections.get(name) ?? new Map<string, IniValue>();
      sections.set(name, current);
      continue;
    }
    const equals = trimmed.indexOf('=');
    const key = equals < 0 ? trimmed : trimmed.slice(0, equals);
    current.set(textOf(key.trim()), equals < 0 ? true : valueOf(trimmed.slice(equals + 1).trim()));
  }
  return { top, sections };
}

const TYPED: ReadonlyMap<string, IniValue> = new Map<string, IniValue>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function valueOf(raw: string): IniValue {
  const text = textOf(raw);
  const typed = isQuoted(raw) ? undefined : TYPED.get(text);
  return typed === undefined ? text : typed;
}

function isQuoted(raw: string): boolean {
  return raw.length > 1 && /^(?:".*"|'.*')$/s.test(raw);
}

function textOf(raw: string): string {
  if (!isQuoted(raw)) return withoutComment(raw);
  if (raw.startsWith("'")) return raw.slice(1, -1);
  try {
    return JSON.parse(raw) as string;
  } catch {
    return raw.slice(1, -1);
  }
}

function withoutComment(raw: string): string {
  const value = /^(?:\\[\\;#]|[^;#])*/.exec(raw)?.[0] ?? '';
  return value.replace(/\\([\\;#])/g, '$1').trim();
}
