import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UsageError } from './walk.js';

export const USAGE = `Usage: npm run demo -- [--files N] [--dashboard] [FOLDER]

  FOLDER       whose files are digested, a job each (default: this project's node_modules)
  --files N    at most so many (default: 2000)
  --dashboard  shows the jobs in a browser, until ctrl-c

  REDIS_URL    in the environment: jobs go through that server to several worker processes;
               without it everything runs embedded in this one
`;

const MAX_FILES = 100_000;

export interface DemoOptions {
  folder: string;
  files: number;
  dashboard: boolean;
  help: boolean;
}

/** @throws UsageError */
export function parseOptions(argv: readonly string[]): DemoOptions {
  const { values, positionals } = parse(argv);
  const files = Number(values.files ?? 2000);
  if (!Number.isInteger(files) || files < 1 || files > MAX_FILES) {
    throw new UsageError(
      `Expected --files to be a whole number from 1 to ${MAX_FILES}, got ${values.files}.`,
    );
  }
  if (positionals.length > 1) throw new UsageError(`Expected one folder, got ${positionals.join(' ')}.`);
  const folder = positionals[0] ?? fileURLToPath(new URL('../../node_modules', import.meta.url));
  return { folder, files, dashboard: values.dashboard ?? false, help: values.help ?? false };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        files: { type: 'string' },
        dashboard: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
