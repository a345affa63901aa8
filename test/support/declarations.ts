import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { compilerHost } from './type-check.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Where the declarations seem to lie: inside the package, so that they find what they import. */
const OUT = join(ROOT, 'dist-of-a-test');

/** The entry points of the package, by the name that users import. */
export const ENTRY_POINTS = {
  'nestjs-gearmonkey': 'index',
  'nestjs-gearmonkey/qless': 'qless/index',
  'nestjs-gearmonkey/jq': 'jq/index',
  'nestjs-gearmonkey/jobd': 'jobd/index',
  'nestjs-gearmonkey/tracing': 'tracing/index',
  'nestjs-gearmonkey/metrics': 'metrics/index',
  'nestjs-gearmonkey/health': 'health/index',
  'nestjs-gearmonkey/testing': 'testing/index',
} as const;

export type EntryPoint = keyof typeof ENTRY_POINTS;

/** What a program that uses the built package sees of it: its `.d.ts`, and nothing else. */
export class Declarations {
  private readonly program: ts.Program;
  private readonly checker: ts.TypeChecker;

  private constructor(
    files: ReadonlyMap<string, string>,
    private readonly apps: readonly string[],
  ) {
    const options: ts.CompilerOptions = {
      ...configOf().options,
      rootDir: ROOT,
      noEmit: true,
      declaration: false,
      skipLibCheck: false,
      noUnusedLocals: false,
      paths: Object.fromEntries(
        Object.entries(ENTRY_POINTS).map(([name, path]) => [name, [join(OUT, `${path}.d.ts`)]]),
      ),
    };
    const entries = Object.values(ENTRY_POINTS).map((path) => join(OUT, `${path}.d.ts`));
    this.program = ts.createProgram([...entries, ...apps], options, hostOf(files, options));
    this.checker = this.program.getTypeChecker();
  }

  /** @param apps programs that use the package, by file names */
  static build(apps: Readonly<Record<string, string>> = {}): Declarations {
    const { options, fileNames } = configOf();
    const files = new Map<string, string>();
    const built = { ...options, outDir: OUT, emitDeclarationOnly: true };
    ts.createProgram(fileNames, built, compilerHost(built)).emit(undefined, (file, text) =>
      files.set(file, text),
    );
    const written = Object.entries(apps).map(([name, text]) => [join(ROOT, name), text] as const);
    for (const [name, text] of written) files.set(name, text);
    return new Declarations(
      files,
      written.map(([name]) => name),
    );
  }

  /** What TypeScript finds wrong, in the declarations that the entry points lead to and in the apps. */
  errors(): string[] {
    return this.own().flatMap((file) => ts.getPreEmitDiagnostics(this.program, file).map(lineOf));
  }

  /** Files that have what `stripInternal` is to leave out. */
  withInternals(): string[] {
    return this.own()
      .filter(({ text }) => text.includes('@internal'))
      .map(({ fileName }) => fileName.slice(OUT.length + 1));
  }

  names(entry: EntryPoint): string[] {
    return this.exports(entry)
      .map(({ name }) => name)
      .sort();
  }

  undocumented(entry: EntryPoint): string[] {
    return this.exports(entry)
      .filter((symbol) => this.target(symbol).getDocumentationComment(this.checker).length === 0)
      .map(({ name }) => name);
  }

  /** Own types that public declarations mention, though no entry point exports them: `Type, in PublicName`. */
  unexported(): string[] {
    const symbols = (Object.keys(ENTRY_POINTS) as EntryPoint[]).flatMap((entry) => this.exports(entry));
    const known = new Set(symbols.map((symbol) => this.target(symbol)));
    const found = symbols.flatMap((symbol) =>
      (this.target(symbol).declarations ?? [])
        .flatMap((declaration) => this.mentioned(declaration))
        .filter((mentioned) => !known.has(mentioned))
        .map((mentioned) => mentioned.name),
    );
    return [...new Set(found)].sort();
  }

  private own(): ts.SourceFile[] {
    return this.program
      .getSourceFiles()
      .filter(({ fileName }) => fileName.startsWith(OUT) || this.apps.includes(fileName));
  }

  private isOwn(node: ts.Node): boolean {
    return node.getSourceFile().fileName.startsWith(OUT);
  }

  private exports(entry: EntryPoint): ts.Symbol[] {
    const file = this.program.getSourceFile(join(OUT, `${ENTRY_POINTS[entry]}.d.ts`)) as ts.SourceFile;
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
    const found = target && declared && isType(declared) && this.isOwn(declared) ? [target] : [];
    ts.forEachChild(node, (child) => void found.push(...this.mentioned(child)));
    return found;
  }
}

function isType(node: ts.Node): boolean {
  return !ts.isTypeParameterDeclaration(node) && !ts.isParameter(node);
}

function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isTypeQueryNode(node)) return node.exprName;
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
}

function configOf(): ts.ParsedCommandLine {
  const path = join(ROOT, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, ts.sys.readFile) as { config: object };
  return ts.parseJsonConfigFileContent(config, ts.sys, dirname(path));
}

function hostOf(files: ReadonlyMap<string, string>, options: ts.CompilerOptions): ts.CompilerHost {
  const host = compilerHost(options);
  const folders = new Set([...files.keys()].map((file) => dirname(file)));
  const { readFile, fileExists, directoryExists } = host;
  host.readFile = (file) => files.get(file) ?? readFile.call(host, file);
  host.fileExists = (file) => files.has(file) || fileExists.call(host, file);
  host.directoryExists = (folder) => folders.has(folder) || (directoryExists?.call(host, folder) ?? true);
  return host;
}

function lineOf({ file, start, messageText }: ts.Diagnostic): string {
  const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
  return `${file?.fileName.slice(ROOT.length) ?? ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
