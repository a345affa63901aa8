import { createServer } from 'node:http';
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { extname, join, normalize, sep } from 'node:path';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.php': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.py': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/**
 * Serves the files of a folder to this machine only.
 *
 * @param {string} folder
 * @param {number} port 0 for any that is free
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function serve(folder, port) {
  const server = createServer((request, response) => {
    const found = fileOf(folder, request.url ?? '/');
    const path = found ?? join(folder, '404.html');
    response.writeHead(found === undefined ? 404 : 200, {
      'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
      'x-content-type-options': 'nosniff',
    });
    if (request.method === 'HEAD') return void response.end();
    createReadStream(path)
      .on('error', () => response.destroy())
      .pipe(response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: listens } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${listens}`, close: () => void server.close() };
}

/** The file that a path names, or undefined if there is none in the folder. */
function fileOf(folder, url) {
  const path = join(folder, normalize(pathOf(url)));
  if (path !== folder && !path.startsWith(folder + sep)) return undefined;
  return [path, join(path, 'index.html'), `${path}.html`].find((file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile(),
  );
}

function pathOf(url) {
  try {
    return decodeURIComponent(new URL(url, 'http://localhost').pathname).replaceAll('\0', '');
  } catch {
    return '/404.html';
  }
}
