import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Checks that `dist/` was built from the present `lib/`, by the times of the files, as scripts/prepare.mjs does.
 *
 * @param root folder of the project
 * @throws if `npm run build` is needed
 */
export function checkBuild(root: string): void {
  const built = modifiedAt(join(root, 'dist/index.d.ts'));
  if (built === 0) throw new Error('dist/index.d.ts does not exist. Run `npm run build` before this suite.');
  // Of folders too: their time changes when a file is removed.
  const sources = readdirSync(join(root, 'lib'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
  const newer = [join(root, 'tsconfig.json'), join(root, 'lib'), ...sources].find(
    (path) => modifiedAt(path) >= built,
  );
  if (newer === undefined) return;
  const name = newer.slice(root.length).replace(/^\//, '');
  throw new Error(
    `${name} is newer than the declarations in dist/. Run \`npm run build\` before this suite.`,
  );
}

/** Modification time in milliseconds; 0 if the file does not exist. */
function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
