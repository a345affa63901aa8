/** Reads a file of Lua by its name; a piece without a folder is looked for in the folders of a form. */
export type ReadLua = (name: string) => string;

/** `-- include PIECE: names`, and what an inner one costs at the head of the file. */
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
 * The file with each include replaced by its piece, once in a block and the blocks within it.
 *
 * @throws Error for an include whose names the piece doesn't define or the file doesn't use, and for one that is
 * neither at the head of the file nor says what it would cost there
 */
export function withPieces(name: string, read: ReadLua, known: Set<string> = new Set()): string[] {
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
    const { kind, indent, names, figure, pieces } = directive;
    if (kind === 'include') {
      const [piece = ''] = pieces;
      if (!isHead && figure === undefined) throw new Error(`${name}: "${line.trim()}" is not at its head.`);
      checkNames({ name, text, piece, names }, read);
    }
    return pieces.flatMap((piece) => {
      if (kind === 'includes of') return headOf(piece, read, block.known);
      if (kind === 'include' && block.known.has(piece)) return [];
      if (kind === 'include') block.known.add(piece);
      const inner = kind === 'include' ? block.known : new Set(block.known);
      return withPieces(piece, read, inner).map((included) => indent + included);
    });
  });
}

interface Directive {
  readonly kind: 'include' | 'inline' | 'includes of';
  readonly indent: string;
  readonly pieces: readonly string[];
  readonly names: readonly string[];
  readonly figure: string | undefined;
}

function directiveOf(file: string, line: string): Directive | undefined {
  if (!DIRECTIVE.test(line)) return undefined;
  const include = INCLUDE.exec(line);
  if (include) {
    const [, indent = '', piece = '', names = '', figure] = include;
    return { kind: 'include', indent, pieces: [piece], names: names.split(', '), figure };
  }
  const [, indent = '', body] = INLINE.exec(line) ?? [];
  if (body !== undefined) return { kind: 'inline', indent, pieces: [body], names: [], figure: undefined };
  const [, files] = INCLUDES_OF.exec(line) ?? [];
  if (files !== undefined)
    return { kind: 'includes of', indent: '', pieces: files.split(', '), names: [], figure: undefined };
  throw new Error(`${file}: "${line.trim()}" is no include: it must be "-- include PIECE: name, name".`);
}

/** What the head of a command includes, without its code. */
function headOf(name: string, read: ReadLua, known: Set<string>): string[] {
  const head = bodyOf(read(name)).filter((line) => line.startsWith('-- include '));
  const withHead: ReadLua = (asked) => (asked === name ? head.join('\n') : read(asked));
  return head.flatMap((line) => {
    const { pieces: [piece = ''] = [] } = directiveOf(name, line) ?? {};
    if (known.has(piece)) return [];
    known.add(piece);
    return withPieces(piece, withHead, known);
  });
}

/** Without the contract it begins with. */
function bodyOf(text: string): string[] {
  return text
    .replace(/^--\[=\[[\s\S]*?\]=\]\n/, '')
    .trimEnd()
    .split('\n');
}

interface Names {
  readonly name: string;
  readonly text: string;
  readonly piece: string;
  readonly names: readonly string[];
}

function checkNames({ name, text, piece, names }: Names, read: ReadLua): void {
  const defined = definedIn(read(piece));
  const code = text.replace(/--.*$/gm, '');
  for (const included of names) {
    if (!defined.has(included)) throw new Error(`${name}: the piece "${piece}" defines no ${included}.`);
    if (!new RegExp(`\\b${included}\\b`).test(code))
      throw new Error(`${name}: ${included} of "${piece}" is not used.`);
  }
}

/** The locals at a piece's outermost level. */
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
