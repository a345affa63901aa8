/**
 * Builds the documentation site from docs/ and the comments of lib/, and serves it. It works without a network.
 *
 *   npm run docs                        builds it into site/dist/site, and serves it on http://127.0.0.1:4173
 *   npm run docs -- --build             only builds it
 *   npm run docs -- --port 8080         another port; 0 for any that is free
 *   npm run docs -- --out FOLDER        into another folder
 *   npm run docs -- --serve             serves what was built before
 *
 * A dead link or anchor fails the build.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeApi } from './api.mjs';
import { deadLinks } from './links.mjs';
import { markdownIn, writePages } from './pages.mjs';
import { serve } from './serve.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));

const note = (line) => console.error(`docs: ${line}`);

/** @returns {never} */
function usage(message) {
  note(message);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        build: { type: 'boolean', default: false },
        serve: { type: 'boolean', default: false },
        port: { type: 'string', default: '4173' },
        out: { type: 'string', default: join(HERE, 'dist/site') },
      },
    });
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) usage(`Expected a port, got ${values.port}.`);
    return { ...values, out: resolve(process.env.INIT_CWD ?? '.', values.out), port };
  } catch (error) {
    usage(error.message);
  }
}

/** @param {string} out the folder of the site */
async function build(out) {
  mkdirSync(join(HERE, 'dist'), { recursive: true });
  // Pages are compiled to modules, which find the packages that they need in the folders above them.
  const work = mkdtempSync(join(HERE, 'dist/work-'));
  try {
    const pages = join(work, 'pages');
    const api = await writeApi(join(pages, 'api'));
    const groups = writePages(pages);
    const reference = groups.find(({ title }) => title === 'Reference');
    reference?.items.splice(2, 0, {
      text: 'API',
      path: 'api/index.md',
      says: 'classes, functions and types by entry point',
    });
    writeFileSync(join(work, 'menu.json'), JSON.stringify({ groups, api }));
    // For .vitepress/config.mjs, which VitePress loads by itself.
    process.env.SITE_WORK = work;
    process.env.SITE_OUT = out;
    // What else is linked to and is no page: the examples of jobd, the clients in other languages.
    process.env.VITE_EXTRA_EXTENSIONS = 'example,service,py,php';
    const { build: buildSite } = await import('vitepress');
    await buildSite(HERE);
    writeMarkdown(pages, out, groups);
    const dead = deadLinks(out);
    if (dead.length > 0) throw new Error(`Dead links:\n  ${dead.join('\n  ')}`);
    note(`${markdownIn(pages).length} pages in ${out}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Each page as Markdown beside its HTML, and the two files that language models look for: https://llmstxt.org */
function writeMarkdown(pages, site, groups) {
  for (const path of markdownIn(pages)) {
    mkdirSync(dirname(join(site, path)), { recursive: true });
    cpSync(join(pages, path), join(site, path));
  }
  const { name, description } = JSON.parse(readFileSync(join(HERE, '../package.json'), 'utf8'));
  const inOrder = ({ items }) => items.flatMap((item) => [item, ...(item.items ?? [])]);
  const entryOf = ({ text, path, says }) => `- [${text}](${path})${says ? `: ${says}` : ''}\n`;
  const lists = groups.map((group) => `## ${group.title}\n\n${inOrder(group).map(entryOf).join('')}`);
  writeFileSync(join(site, 'llms.txt'), `# ${name}\n\n> ${description}\n\n${lists.join('\n')}`);
  const all = groups
    .flatMap(inOrder)
    .map(({ path }) => `<!-- /${path} -->\n\n${readFileSync(join(pages, path), 'utf8').trim()}\n`);
  writeFileSync(join(site, 'llms-full.txt'), all.join('\n'));
}

const options = readOptions();
if (!options.serve) await build(options.out);
if (!options.build) {
  const { url } = await serve(options.out, options.port);
  console.log(`The documentation is at ${url} until ctrl-c.`);
}
