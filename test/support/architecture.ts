import { posix } from 'node:path';
import ts from 'typescript';

/** Files by their path from the repository's root, with `/`. */
export type Sources = ReadonlyMap<string, string>;

/**
 * A folder of lib by its path, and which folders beside it its files may import: `nest: ['job']`, and inside
 * gearmonkey `'gearmonkey/features': ['core']`. Files that lie in no room of their folder belong to its `index`.
 * Where no row names a room of a folder, its rooms are not looked at.
 */
export type Arrows = Readonly<Record<string, readonly string[]>>;

/** Every rule a source may break, a line each. */
export function violations(sources: Sources, arrows: Arrows): string[] {
  const files = [...sources].map(([path, text]) =>
    ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true),
  );
  const imports = new Map(files.map((file) => [file.fileName, importsOf(file)]));
  return [
    ...[...imports].flatMap(([file, targets]) => [
      ...withoutPlace(file, arrows),
      ...targets.flatMap((target) => wrongArrow(file, target, arrows)),
    ]),
    ...cycles(imports),
    ...files.flatMap(forbiddenSyntax),
  ];
}

/** Files that are imported by a path, types too: with `import`, `export … from`, `import()` and `import('…')` types. */
function importsOf(file: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier?.startsWith('.')) {
      const path = posix.join(posix.dirname(file.fileName), specifier);
      found.push(path.replace(/\.js$/, '.ts'));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function specifierOf(node: ts.Node): string | undefined {
  const literal =
    ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
      ? node.moduleSpecifier
      : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
        ? node.arguments[0]
        : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
          ? node.argument.literal
          : undefined;
  return literal && ts.isStringLiteralLike(literal) ? literal.text : undefined;
}

/** Rows of folders that hold no file. */
export function emptyRows(paths: readonly string[], arrows: Arrows): string[] {
  const places = new Set(paths.flatMap((path) => placesOf(path)));
  return Object.keys(arrows).filter((row) => !places.has(row));
}

/** `lib/a/b/c.ts` is in `a`, in `a/b`, and there in `a/b/index`. */
function placesOf(path: string): string[] {
  const folders = path.split('/').slice(1, -1);
  return [
    ...folders.map((_, depth) => folders.slice(0, depth + 1).join('/')),
    [...folders, 'index'].join('/'),
  ];
}

/** Whether rows say which rooms `folder` has. */
function hasRooms(folder: string, arrows: Arrows): boolean {
  return folder === '' || Object.keys(arrows).some((row) => row.startsWith(`${folder}/`));
}

function withoutPlace(file: string, arrows: Arrows): string[] {
  return placesOf(file)
    .filter((place) => hasRooms(place.split('/').slice(0, -1).join('/'), arrows) && !arrows[place])
    .map((place) => `${file}: the folder "${place}" has no place in the architecture`);
}

/** The arrow between the rooms in which the two files part. */
function wrongArrow(file: string, target: string, arrows: Arrows): string[] {
  const [places, targets] = [placesOf(file), placesOf(target)];
  const depth = places.findIndex((place, index) => place !== targets[index]);
  const from = places[depth] ?? 'index';
  const allowed = arrows[from];
  const to = targets[depth]?.split('/').at(-1) ?? 'index';
  const isInside = target.startsWith('lib/');
  if (isInside && (depth < 0 || !allowed || allowed.includes(to))) return [];
  return [`${file} imports ${target}: "${from}" may import ${allowed?.join(', ') || 'nothing'}`];
}

function cycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      found.add(`cycle: ${[...path.slice(start), file].join(' -> ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return [...found];
}

/** `any`, a non-null `!`, and comments that silence the compiler. */
function forbiddenSyntax(file: ts.SourceFile): string[] {
  const found: string[] = [];
  const say = (position: number, what: string) =>
    found.push(`${file.fileName}:${file.getLineAndCharacterOfPosition(position).line + 1} ${what}`);
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) say(node.getStart(file), 'any');
    if (ts.isNonNullExpression(node)) say(node.getStart(file), 'a non-null !');
    ts.forEachChild(node, visit);
  };
  visit(file);
  const directives = (file as ts.SourceFile & { commentDirectives?: readonly { range: ts.TextRange }[] })
    .commentDirectives;
  for (const { range } of directives ?? []) say(range.pos, 'a comment that silences the compiler');
  if (file.text.includes('@ts-nocheck')) say(0, 'a comment that silences the compiler');
  return found;
}

/** Paths with a folder whose name says what kind of thing is in it, and not what it is for. */
export function vagueFolders(paths: readonly string[]): string[] {
  const VAGUE = ['utils', 'util', 'types', 'interfaces', 'common', 'helpers', 'shared', 'misc'];
  return paths.filter((path) =>
    path
      .split('/')
      .slice(0, -1)
      .some((folder) => VAGUE.includes(folder)),
  );
}

/** Lines that name a place on one machine only. */
export function machinePaths(sources: Sources, places: readonly string[]): string[] {
  return [...sources].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, index) => {
      const place = places.find((name) => line.includes(name));
      return place ? [`${path}:${index + 1} names ${place}`] : [];
    }),
  );
}
