/** Reads a Lua file by its name; a part without a folder is searched for in the folders of a form. */
export type ReadLua = (name: string) => string;

/** `-- include PART: names`, and what an inner one costs at the head of the file. */
const INCLUDE = /^( *)-- include ([\w.-]+): (\w+(?:, \w+)*)(?: -- (.+))?$/;
/** `-- inline commands/NAME`: the code of a command. */
const INLINE = /^( *)-- inline (\S+)$/;
/** `-- includes of commands/NAME, …`: the includes of code that is inlined further down, so that they run once. */
const INCLUDES_OF = /^-- includes of (\S+(?:, \S+)*)$/;
const DIRECTIVE = /^ *-- (?:include|inline)/;

/** Pieces known in a block of Lua, and how far the block is indented. */
interface Block {
  readonly indent: number;
  readonly known: Set<string>;
}

/**
 * Replaces each include of a file by its part, once in a block and the blocks inside it.
 *
 * @throws Error for an include whose names the part doesn't define or the file doesn't use, and for one that is
 * neither at the head of the file nor says what it would cost there
 */
export function withParts(name: string, read: ReadLua, known: Set<string> = new Set()): string[] {
  const text = read(name);
  const blocks: Block[] = [{ indent: 0, known }];
  let isHead = true;
  return bodyOf(text).flatMap((line) => {
    const directive = directiveOf(name, line);
    const block = blockAt(blocks, directive ? directive.indent.length : line.search(/\S/));
    if (!directive) {
      isHead &&= line.trim() === '' || line.startsWith('--');
      return [line];
    }
    const { kind, indent, names, figure, parts } = directive;
    if (kind === 'include') {
      const [part = ''] = parts;
      if (!isHead && figure === undefined) throw new Error(`${name}: "${line.trim()}" is not at its head.`);
      checkNames({ name, text, part, names }, read);
    }
    return parts.flatMap((part) => {
      if (kind === 'includes of') return headOf(part, read, block.known);
      if (kind === 'include' && block.known.has(part)) return [];
      if (kind === 'include') block.known.add(part);
      const inner = kind === 'include' ? block.known : new Set(block.known);
      return withParts(part, read, inner).map((included) => indent + included);
    });
  });
}

interface Directive {
  readonly kind: 'include' | 'inline' | 'includes of';
  readonly indent: string;
  readonly parts: readonly string[];
  readonly names: readonly string[];
  readonly figure: string | undefined;
}

function directiveOf(file: string, line: string): Directive | undefined {
  if (!DIRECTIVE.test(line)) return undefined;
  const include = INCLUDE.exec(line);
  if (include) {
    const [, indent = '', part = '', names = '', figure] = include;
    return { kind: 'include', indent, parts: [part], names: names.split(', '), figure };
  }
  const [, indent = '', body] = INLINE.exec(line) ?? [];
  if (body !== undefined) return { kind: 'inline', indent, parts: [body], names: [], figure: undefined };
  const [, files] = INCLUDES_OF.exec(line) ?? [];
  if (files !== undefined)
    return { kind: 'includes of', indent: '', parts: files.split(', '), names: [], figure: undefined };
  throw new Error(`${file}: "${line.trim()}" is no include: it must be "-- include PART: name, name".`);
}

/** Returns the includes at the head of a command, without its code. */
function headOf(name: string, read: ReadLua, known: Set<string>): string[] {
  return bodyOf(read(name)).flatMap((line) => {
    const { kind, indent, parts: [part = ''] = [] } = directiveOf(name, line) ?? {};
    if (kind !== 'include' || indent !== '' || known.has(part)) return [];
    known.add(part);
    return withParts(part, read, known);
  });
}

/** Removes the contract at its head. */
function bodyOf(text: string): string[] {
  return text
    .replace(/^--\[=\[[\s\S]*?\]=\]\n/, '')
    .trimEnd()
    .split('\n');
}

interface Names {
  readonly name: string;
  readonly text: string;
  readonly part: string;
  readonly names: readonly string[];
}

/** Names that were checked, by the text of the part and that of the file. */
const checked = new Map<string, Map<string, Set<string>>>();

function checkNames({ name, text, part, names }: Names, read: ReadLua): void {
  const partText = read(part);
  const files = checked.get(partText) ?? new Map<string, Set<string>>();
  const done = files.get(text) ?? new Set();
  const left = names.filter((included) => !done.has(included));
  if (left.length === 0) return;
  const defined = definedIn(partText);
  const code = text.replace(/--.*$/gm, '');
  for (const included of left) {
    if (!defined.has(included)) throw new Error(`${name}: the part "${part}" defines no ${included}.`);
    if (!new RegExp(`\\b${included}\\b`).test(code))
      throw new Error(`${name}: ${included} of "${part}" is not used.`);
    done.add(included);
  }
  checked.set(partText, files.set(text, done));
}

/** The locals at a part's outermost level. */
function definedIn(text: string): Set<string> {
  const found = [...text.matchAll(/^local (?:function (\w+)|(\w+(?:, \w+)*))/gm)];
  return new Set(found.flatMap(([, fn, names]) => fn ?? names?.split(', ') ?? []));
}

/** Blocks that are indented further have ended; one that begins here knows what the blocks around it know. */
function blockAt(blocks: Block[], indent: number): Block {
  let innermost = blocks.at(-1) ?? { indent: 0, known: new Set<string>() };
  // A blank line has no indent, and ends nothing.
  while (indent >= 0 && indent < innermost.indent) {
    blocks.pop();
    innermost = blocks.at(-1) ?? innermost;
  }
  if (indent <= innermost.indent) return innermost;
  const block = { indent, known: new Set(innermost.known) };
  blocks.push(block);
  return block;
}
