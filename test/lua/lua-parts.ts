import { namesIn, type FreeName } from './lua-names.js';

/** What scripts of Redis have without an include. */
const BUILTIN = new Set(
  'KEYS ARGV redis cjson cmsgpack math string table error ipairs next pairs pcall select tonumber tostring type unpack'.split(
    ' ',
  ),
);

/** The Lua files of a folder, by their names without `.lua`. */
export type LuaTexts = Readonly<Record<string, string>>;

interface Need {
  readonly part: string;
  readonly names: readonly string[];
  readonly line: number;
}

interface Head {
  /** `-- include PART: names`, or of files that others put together `-- Needs PART: names; PART: names`. */
  readonly needs: readonly Need[];
  /** `-- Gives names`; nothing for a script. */
  readonly gives: readonly string[];
  /** Lines of includes below the head that do not say what they would cost there. */
  readonly late: readonly number[];
}

const INCLUDE = /^ *-- include (\S+?)(?:: (\w+(?:, \w+)*)( -- \S.*)?)?$/;
/** Lists go on in lines that begin so. */
const REST = '\n--   ';

/**
 * Says what is wrong with the names of files that are put together to scripts. Each file says at its head which names it needs
 * of which others, and which it gives to others.
 *
 * @param list a file that includes all others, in the order and blocks that it chooses: they only say what they need
 */
export function problemsOfParts(texts: LuaTexts, list?: string): string[] {
  const heads = new Map(Object.entries(texts).map(([file, text]) => [file, headOf(text)]));
  const needed = new Set([...heads.values()].flatMap(({ needs }) => needs.flatMap(({ names }) => names)));
  return Object.entries(texts).flatMap(([file, text]) => {
    const { needs, gives, late } = heads.get(file) as Head;
    const { declared, free } = namesIn(text);
    const own = new Set(declared.filter(({ isOutermost }) => isOutermost).map(({ name }) => name));
    const used = new Set(free.map(({ name }) => name));
    return [
      ...(file === list ? [] : late).map(
        (line) => `${file}:${line}: an include is at the head, or says behind -- what it would cost there`,
      ),
      ...needs.flatMap(({ part, names, line }) =>
        names.flatMap((name) => {
          if (heads.get(part)?.gives.includes(name) !== true)
            return [`${file}:${line}: ${part} does not give ${name}`];
          return used.has(name) ? [] : [`${file}:${line}: ${name} of ${part} is not used`];
        }),
      ),
      ...strayNames(free, new Set(needs.flatMap(({ names }) => names))).map(
        (problem) => `${file}:${problem}`,
      ),
      ...gives
        .filter((name) => !own.has(name))
        .map((name) => `${file}: does not define ${name}, which it gives`),
      ...gives
        .filter((name) => !needed.has(name))
        .map((name) => `${file}: gives ${name}, which no file needs`),
      ...declared
        .filter(
          ({ name, isOutermost, isUsed }) => isOutermost && !isUsed && name !== '_' && !gives.includes(name),
        )
        .map(({ name, line }) => `${file}:${line}: ${name} is neither used nor given`),
    ];
  });
}

/** Names that are neither of Redis nor `known`, and assignments to names that the file does not declare. */
export function strayNames(free: readonly FreeName[], known: ReadonlySet<string>): string[] {
  return free.flatMap(({ name, line, isAssigned }) => {
    if (isAssigned) return [`${line}: ${name} is assigned, and belongs to another file`];
    return known.has(name) || BUILTIN.has(name)
      ? []
      : [`${line}: ${name} is neither needed at the head nor defined`];
  });
}

/** Says what is wrong with a script as it is sent: names that its blocks do not see, and those that two of its files declare. */
export function problemsOfScript(text: string): string[] {
  const { free, declared } = namesIn(text);
  const outermost = declared
    .filter(({ isOutermost, name }) => isOutermost && name !== '_')
    .map(({ name }) => name);
  const twice = outermost.filter((name, index) => outermost.indexOf(name) !== index);
  return [
    ...strayNames(free, new Set()),
    ...twice.map((name) => `${name} is declared twice`),
    ...declared
      .filter(({ name }) => BUILTIN.has(name))
      .map(({ name, line }) => `${line}: ${name} hides what Redis has by this name`),
  ];
}

function headOf(text: string): Head {
  const needs: Need[] = [];
  const late: number[] = [];
  let isHead = true;
  const header = /^--\[\[[^]*?\]\]/.exec(text)?.[0] ?? '';
  for (const [index, line] of text.split('\n').entries()) {
    if (index < header.split('\n').length && header !== '') continue;
    const include = INCLUDE.exec(line);
    if (!include) {
      isHead &&= line === '' || line.startsWith('--');
      continue;
    }
    const [, part = '', names = '', cost] = include;
    if (!isHead && cost === undefined) late.push(index + 1);
    needs.push({ part, names: names === '' ? [] : names.split(', '), line: index + 1 });
  }
  const listed = listOf(text, 'Needs').map((each) => {
    const [part = '', names = ''] = each.split(': ');
    return { part, names: names.split(', '), line: 1 };
  });
  const gives = listOf(text, 'Gives').filter((each) => !each.startsWith('operations '));
  return { needs: [...needs, ...listed], gives: gives.flatMap((each) => each.split(', ')), late };
}

function listOf(text: string, what: string): string[] {
  const [, list = ''] = new RegExp(`^-- ${what} ((?:.*${REST})*.*)$`, 'm').exec(text) ?? [];
  return list === '' ? [] : list.replaceAll(REST, ' ').split('; ');
}
