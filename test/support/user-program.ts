import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { checkBuild } from './fresh-build.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'dist/');
const MAIN = 'nestjs-gearmonkey';

/** Declarations of the package's entry points, by the names that users import. */
export const ENTRY_POINTS: ReadonlyMap<string, string> = entryPoints();

/**
 * A strict program that uses the built package and sees what users see: the `.d.ts` in `dist/`, by way of package.json.
 * To check one takes seconds, so all code that is to compile belongs into the same program.
 */
export class UserProgram {
  private readonly program: ts.Program;
  private readonly checker: ts.TypeChecker;

  /**
   * @param files their names, from the folder of the project
   * @param sources other files, by such names, that exist only in this program
   * @throws if `dist/` is not what `lib/` is
   */
  constructor(files: readonly string[], sources: Readonly<Record<string, string>> = {}) {
    checkBuild(ROOT);
    const made = new Map(Object.entries(sources).map(([name, text]) => [join(ROOT, name), text]));
    const options = {
      ...packageOptions(),
      rootDir: ROOT,
      // With a folder for output, TypeScript would find the sources of the package instead of its declarations.
      outDir: undefined,
      noEmit: true,
      skipLibCheck: false,
    };
    const names = [...files.map((name) => join(ROOT, name)), ...made.keys()];
    this.program = ts.createProgram([...ENTRY_POINTS.values(), ...names], options, hostOf(made, options));
    this.checker = this.program.getTypeChecker();
  }

  /** What TypeScript says of these files, a line each: `file:line message`. Errors of other files are left out. */
  errors(files: readonly string[]): string[] {
    const { program } = this;
    return [
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...files.flatMap((name) => this.errorsOf(this.file(join(ROOT, name)))),
    ].map(toLine);
  }

  /** Names of the declarations that the entry points lead to. */
  declarations(): string[] {
    return this.own().map(({ fileName }) => fileName.slice(ROOT.length));
  }

  /** Declarations that have what `stripInternal` is to leave out. */
  withInternals(): string[] {
    return this.own()
      .filter(({ text }) => text.includes('@internal'))
      .map(({ fileName }) => fileName.slice(ROOT.length));
  }

  names(entry: string): string[] {
    return this.exports(entry)
      .map(({ name }) => name)
      .sort();
  }

  undocumented(entry: string): string[] {
    return this.exports(entry)
      .filter((symbol) => this.target(symbol).getDocumentationComment(this.checker).length === 0)
      .map(({ name }) => name);
  }

  /** Own types that public declarations mention, though no entry point exports them. */
  unexported(): string[] {
    const symbols = [...ENTRY_POINTS.keys()].flatMap((entry) => this.exports(entry));
    const known = new Set(symbols.map((symbol) => this.target(symbol)));
    const found = symbols.flatMap((symbol) =>
      (this.target(symbol).declarations ?? [])
        .flatMap((declaration) => this.mentioned(declaration))
        .filter((mentioned) => !known.has(mentioned))
        .map((mentioned) => mentioned.name),
    );
    return [...new Set(found)].sort();
  }

  /** The options of an exported type, with their `@default`. */
  options(type: string): { name: string; defaultValue: string }[] {
    const exported = this.exports(MAIN).find(({ name }) => name === type);
    if (!exported) throw new Error(`${MAIN} does not export ${type}.`);
    const properties = this.checker.getDeclaredTypeOfSymbol(this.target(exported)).getProperties();
    return properties.map((property) => {
      const tag = property.getJsDocTags().find(({ name }) => name === 'default');
      return { name: property.name, defaultValue: ts.displayPartsToString(tag?.text) };
    });
  }

  private errorsOf(file: ts.SourceFile): ts.Diagnostic[] {
    return [
      ...this.program.getSyntacticDiagnostics(file),
      ...this.program.getSemanticDiagnostics(file),
      ...this.program.getDeclarationDiagnostics(file),
    ];
  }

  private file(path: string): ts.SourceFile {
    const file = this.program.getSourceFile(path);
    if (!file) throw new Error(`${path} is not in the program.`);
    return file;
  }

  private own(): ts.SourceFile[] {
    return this.program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(DIST));
  }

  private exports(entry: string): ts.Symbol[] {
    const file = this.file(ENTRY_POINTS.get(entry) ?? entry);
    return this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(file) as ts.Symbol);
  }

  private target(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }

  private mentioned(node: ts.Node): ts.Symbol[] {
    const name = nameOf(node);
    const symbol = name && this.checker.getSymbolAtLocation(name);
    const target = symbol && this.target(symbol);
    const declared = target?.declarations?.[0];
    const found = target && declared && isOwnType(declared) ? [target] : [];
    ts.forEachChild(node, (child) => void found.push(...this.mentioned(child)));
    return found;
  }
}

function entryPoints(): Map<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, string | { types: string }>;
  };
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string' ? [] : [[name + path.slice(1), join(ROOT, target.types)]],
    ),
  );
}

/** The compiler options of the package itself. */
export function packageOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as {
    config: { compilerOptions: object };
  };
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options;
}

function hostOf(made: ReadonlyMap<string, string>, options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const folders = new Set([...made.keys()].map((path) => dirname(path)));
  const { readFile, fileExists, directoryExists } = host;
  const getSourceFile = host.getSourceFile.bind(host);
  // Comments of other packages: without them, the program takes a tenth less.
  const jsDocParsingMode = ts.JSDocParsingMode.ParseNone;
  host.getSourceFile = (path, version, ...rest) =>
    path.includes('/node_modules/') && typeof version === 'object'
      ? getSourceFile(path, { ...version, jsDocParsingMode }, ...rest)
      : getSourceFile(path, version, ...rest);
  host.readFile = (path) => made.get(path) ?? readFile.call(host, path);
  host.fileExists = (path) => made.has(path) || fileExists.call(host, path);
  host.directoryExists = (path) => folders.has(path) || (directoryExists?.call(host, path) ?? true);
  return host;
}

function isOwnType(node: ts.Node): boolean {
  const isParameter = ts.isTypeParameterDeclaration(node) || ts.isParameter(node);
  return !isParameter && node.getSourceFile().fileName.startsWith(DIST);
}

function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isTypeQueryNode(node)) return node.exprName;
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
}

function toLine({ file, start, messageText }: ts.Diagnostic): string {
  const message = ts.flattenDiagnosticMessageText(messageText, ' ').replace(/\s+/g, ' ');
  if (!file || start === undefined) return message;
  const { line } = file.getLineAndCharacterOfPosition(start);
  return `${file.fileName.slice(ROOT.length)}:${line + 1} ${message}`;
}
