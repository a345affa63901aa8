import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * Returns what links, pictures and scripts of a built site name that is not there: `PAGE: LINK`.
 *
 * @param {string} site its folder
 */
export function deadLinks(site) {
  const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.html'),
  );
  const idsOfPages = new Map();
  const idsOf = (path) => {
    if (!idsOfPages.has(path)) idsOfPages.set(path, new Set(idsIn(readFileSync(path, 'utf8'))));
    return idsOfPages.get(path);
  };
  return pages.flatMap((page) => {
    const html = readFileSync(join(site, page), 'utf8');
    return [...new Set(linksIn(html))]
      .filter((link) => !isAlive(site, page, link, idsOf))
      .map((link) => `${page.split(sep).join('/')}: ${link}`);
  });
}

function isAlive(site, page, link, idsOf) {
  const url = new URL(link, `http://site/${page.split(sep).join('/')}`);
  if (url.host !== 'site') return true;
  const path = fileOf(join(site, decodeURIComponent(url.pathname)));
  if (path === undefined || relative(site, path).startsWith('..')) return false;
  return url.hash === '' || idsOf(path).has(decodeURIComponent(url.hash.slice(1)));
}

/** As servers of static files answer. */
function fileOf(path) {
  return [path, join(path, 'index.html'), `${path}.html`].find(
    (file) => existsSync(file) && statSync(file).isFile(),
  );
}

/** What a page itself links to; the menus are the same on each page, and are checked with it. */
function linksIn(html) {
  return [...html.matchAll(/<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&'))
    .filter((link) => /^(?:https?:)?\/\/|^(?:mailto|data):/.test(link) === false && link !== '');
}

function idsIn(html) {
  return [...html.matchAll(/\s(?:id|name)="([^"]*)"/g)].map(([, id = '']) => id.replaceAll('&amp;', '&'));
}
