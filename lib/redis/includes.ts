const INCLUDE = /^-- include (\S+)$/;

/** Replaces each line `-- include NAME` with that file and its own includes; a repeated include is left out. */
export function withIncludes(
  text: string,
  read: (name: string) => string,
  known: Set<string> = new Set(),
): string {
  const lines = text.split('\n').flatMap((line) => {
    const [, name] = INCLUDE.exec(line) ?? [];
    if (name === undefined) return [line];
    if (known.has(name)) return [];
    known.add(name);
    return [withIncludes(read(name), read, known).trimEnd()];
  });
  return lines.join('\n');
}
