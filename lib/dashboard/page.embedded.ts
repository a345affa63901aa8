import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** Beside this file while the package is built; in the repository the tests run from the sources. */
const PLACES = ['./page/', '../../dist/dashboard/page/'];

/** The files of the dashboard's page by their paths: base64 of gzip, as the build has made it. */
export const PAGE: Readonly<Record<string, string>> = readPage();

function readPage(): Record<string, string> {
  const place = PLACES.map((each) => fileURLToPath(new URL(each, import.meta.url))).find(existsSync);
  if (place === undefined) throw new Error('The page of the dashboard is not built: run npm run build.');
  const paths = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`);
  const zipped = (path: string) => gzipSync(readFileSync(path), { level: 9 }).toString('base64');
  return Object.fromEntries(paths.sort().map((path) => [pathIn(place, path), zipped(path)]));
}

function pathIn(place: string, path: string): string {
  return path.slice(place.length).replaceAll('\\', '/').replace(/^\//, '');
}
