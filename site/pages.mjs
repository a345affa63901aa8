import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const INDEX = 'docs/README.md';
/** For contributors, in the repository. */
const NOT_ON_THE_SITE = /^docs\/notes\//;
/** What pages link to that is no page: pictures, examples, the clients in other languages. */
const FILES_ON_THE_SITE = /^(?:docs|clients)\//;
/** Lists of everything, which would be found for every word. */
const NOT_SEARCHED = new Set(['index.md', 'changelog.md', 'samples/index.md']);

/**
 * @typedef {object} Item a page in the menu
 * @property {string} text
 * @property {string} path from the site's folder
 * @property {string} [says] what it has
 * @property {Item[]} [items] pages below it
 *
 * @typedef {{ title: string, items: Item[] }} Group
 */

/**
 * Writes the pages of docs/ and sample/ as the site has them, with links between them, and the files that they link to.
 *
 * @param {string} out
 * @returns {Group[]} the menu, which is the list in docs/README.md
 */
export function writePages(out) {
  const sources = [
    ...markdownIn(join(ROOT, 'docs')).map((path) => `docs/${path}`),
    ...readdirSync(join(ROOT, 'sample')).map((name) => `sample/${name}/README.md`),
    'CHANGELOG.md',
  ].filter((path) => !NOT_ON_THE_SITE.test(path) && existsSync(join(ROOT, path)));
  const pages = new Map(sources.map((source) => [source, pageOf(source)]));
  const files = new Set();
  for (const [source, page] of pages) {
    const text = withLinks(readSource(source), source, page, pages, files);
    write(join(out, page), NOT_SEARCHED.has(page) ? `---\nsearch: false\n---\n\n${text}` : text);
  }
  for (const file of files) {
    const copy = join(out, 'public', fileOf(file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(ROOT, file), copy);
    // Pictures are also read from beside the pages.
    mkdirSync(dirname(join(out, fileOf(file))), { recursive: true });
    copyFileSync(join(ROOT, file), join(out, fileOf(file)));
  }
  return menuOf(readFileSync(join(out, 'index.md'), 'utf8'));
}

/** The text of a document; of the index without the section about the notes. */
function readSource(source) {
  const text = readFileSync(join(ROOT, source), 'utf8');
  return source === INDEX ? text.replace(/^## Notes$.*/ms, '').trimEnd() + '\n' : text;
}

/** The Markdown files in a folder, from there, with slashes. */
export function markdownIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => path.split(sep).join('/'));
}

/** Where the site has a document. */
function pageOf(source) {
  if (source === 'CHANGELOG.md') return 'changelog.md';
  const sample = /^sample\/(.*)\/README\.md$/.exec(source)?.[1];
  if (sample !== undefined) return `samples/${sample}.md`;
  return fileOf(source).replace(/(^|\/)README\.md$/, '$1index.md');
}

const fileOf = (source) => source.replace(/^docs\//, '');

/** The text with each relative link as it is on the site; what the site does not have is in the repository. */
function withLinks(text, source, page, pages, files) {
  const parts = text.split(/(^```.*?^```$)/ms);
  const inProse = (prose) =>
    prose.replace(
      /(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s#]*)(#[^)\s]*)?\)/g,
      (all, mark, label, link, anchor = '') => {
        const target = posix.normalize(posix.join(posix.dirname(source), link));
        const to = target === 'README.md' ? 'index.md' : pages.get(target);
        if (to !== undefined) return `${mark}[${label}](${relativeLink(page, to)}${anchor})`;
        if (FILES_ON_THE_SITE.test(target) && !NOT_ON_THE_SITE.test(target)) {
          files.add(target);
          return `${mark}[${label}](${relativeLink(page, fileOf(target))})`;
        }
        const repository = repositoryUrl();
        return repository === undefined ? label : `[${label}](${repository}/blob/main/${target}${anchor})`;
      },
    );
  return parts.map((part, index) => (index % 2 === 0 ? inProse(part) : part)).join('');
}

const relativeLink = (from, to) => posix.relative(posix.dirname(from), to);

function repositoryUrl() {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return repository?.url.replace(/^git\+/, '').replace(/\.git$/, '');
}

/** Headings and lists of the index; a list in a list is below its entry. */
function menuOf(index) {
  /** @type {Group[]} */
  const groups = [];
  for (const line of index.split('\n')) {
    const title = /^## (.*)/.exec(line)?.[1];
    if (title !== undefined) groups.push({ title, items: [] });
    const [, indent, text, link, says] =
      /^( *)- \[([^\]]+)\]\((?!https?:)([^)#]+\.md)\)(?:: (.*))?/.exec(line) ?? [];
    const items = groups.at(-1)?.items;
    if (text === undefined || items === undefined) continue;
    const item = { text: text.replaceAll('`', ''), path: link, ...(says && { says: withoutLinks(says) }) };
    if (indent === '') items.push(item);
    else (items.at(-1).items ??= []).push(item);
  }
  return groups.filter(({ items }) => items.length > 0);
}

const withoutLinks = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
