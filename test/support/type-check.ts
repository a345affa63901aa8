import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What TypeScript says of these files, a line each: `file:line message`. Other files' errors are left out. */
export function typeErrors(
  files: readonly string[],
  sources: Readonly<Record<string, string>> = {},
): string[] {
  const names = files.map((file) => join(root, file));
  const made = new Map(Object.entries(sources).map(([file, text]) => [join(root, file), text]));
  const options = testOptions();
  const host = compilerHost(options);
  const { readFile, fileExists } = host;
  host.readFile = (file) => made.get(file) ?? readFile.call(host, file);
  host.fileExists = (file) => made.has(file) || fileExists.call(host, file);
  const program = ts.createProgram([...names, ...made.keys()], options, host);
  return [...names, ...made.keys()].flatMap((name) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(name)).map(toLine),
  );
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** A host whose files are parsed once for all programs of a suite, which must have the same options. */
export function compilerHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (path, ...rest) => {
    if (!path.includes('/node_modules/') && !path.startsWith(join(root, 'lib')))
      return getSourceFile(path, ...rest);
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, ...rest));
    return parsed.get(path);
  };
  return host;
}

function testOptions(): ts.CompilerOptions {
  const config = join(root, 'tsconfig.test.json');
  const { config: json } = ts.readConfigFile(config, ts.sys.readFile) as { config: object };
  return ts.parseJsonConfigFileContent(json, ts.sys, dirname(config)).options;
}

function toLine({ file, start, messageText }: ts.Diagnostic): string {
  const message = ts.flattenDiagnosticMessageText(messageText, ' ').replace(/\s+/g, ' ');
  if (!file || start === undefined) return message;
  const { line } = file.getLineAndCharacterOfPosition(start);
  return `${file.fileName.slice(root.length)}:${line + 1} ${message}`;
}
