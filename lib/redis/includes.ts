const INCLUDE = /^( *)-- include (\S+)$/;

/** What is included in a block of Lua, and how far the block is indented. */
interface Block {
  readonly indent: number;
  readonly included: Set<string>;
}

/**
 * Replaces each line `-- include NAME` by that piece, and a second one in the same block or within it by nothing.
 * A piece that is included in an indented block is known in that block only, and costs nothing where it isn't run.
 */
export function withIncludes(
  text: string,
  read: (name: string) => string,
  known: Set<string> = new Set(),
): string {
  const blocks: Block[] = [{ indent: 0, included: known }];
  return text
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', name] = INCLUDE.exec(line) ?? [];
      const block = blockAt(blocks, name ? indent.length : line.search(/\S/));
      if (!name) return [line];
      if (block.included.has(name)) return [];
      block.included.add(name);
      return withIncludes(read(name), read, block.included)
        .trimEnd()
        .split('\n')
        .map((included) => indent + included);
    })
    .join('\n');
}

/** Blocks that are indented further have ended; one that begins here knows what the blocks around it know. */
function blockAt(blocks: Block[], indent: number): Block {
  let innermost = blocks.at(-1) ?? { indent: 0, included: new Set<string>() };
  // A blank line has no indent, and ends nothing.
  while (indent >= 0 && indent < innermost.indent) {
    blocks.pop();
    innermost = blocks.at(-1) ?? innermost;
  }
  if (indent <= innermost.indent) return innermost;
  const block = { indent, included: new Set(innermost.included) };
  blocks.push(block);
  return block;
}
