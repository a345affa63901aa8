import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { searching } from '../search.mjs';

/** The folder of the build, which run.mjs has filled with pages. */
const work = process.env.SITE_WORK ?? '';
const { groups, api } = JSON.parse(readFileSync(join(work, 'menu.json'), 'utf8'));
const { name, description, repository } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

const linkOf = (path) => `/${path.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;
const entryOf = ({ text, path, items }) => ({
  text,
  link: linkOf(path),
  ...(items && { collapsed: true, items: items.map(entryOf) }),
});

function menuOfApi(open) {
  return [
    { text: 'All pages', link: '/' },
    ...api.map((entry) => ({
      text: entry.text,
      link: linkOf(entry.path),
      ...(entry === open && { items: entry.items.map(entryOf) }),
    })),
  ];
}

/** As GitHub makes the anchor of a heading, so that a link works in both. */
const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** What each page is about, by its path. */
const saysOf = new Map(
  groups.flatMap(({ items }) =>
    items.flatMap((item) => [item, ...(item.items ?? [])]).map(({ path, says }) => [path, says]),
  ),
);

export default defineConfig({
  title: name,
  description,
  srcDir: join(work, 'pages'),
  outDir: process.env.SITE_OUT ?? '',
  cacheDir: join(work, 'cache'),
  // Icons, fonts and code are of the site itself: nothing comes from another host.
  head: [
    ['meta', { name: 'referrer', content: 'no-referrer' }],
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
  transformPageData: ({ relativePath, title, frontmatter }) => ({
    description: saysOf.get(relativePath) ?? (title === '' ? description : `${title}: ${description}`),
    frontmatter: {
      ...frontmatter,
      head: [['link', { rel: 'alternate', type: 'text/markdown', href: `/${relativePath}` }]],
    },
  }),
  // Without JavaScript VitePress shows nothing there.
  transformHtml: (html, path) =>
    path.endsWith('404.html')
      ? html.replace('<body>', '<body><noscript>This page is not here. <a href="/">All pages</a></noscript>')
      : html,
  lastUpdated: false,
  // links.mjs checks all links and anchors of the built pages.
  ignoreDeadLinks: true,
  markdown: {
    anchor: { slugify: slugOf },
    // `run` and `file=` are for the tests that run the blocks.
    languageAlias: { Caddyfile: 'txt' },
  },
  themeConfig: {
    outline: [2, 3],
    notFound: {
      title: 'This page is not here',
      quote: 'Search for it, or begin with Start.',
      linkText: 'All pages',
    },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Production', link: '/operate/checklist' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: {
      '/api/': menuOfApi(),
      // Each page has its menu in it, so only that of its own entry point is whole.
      ...Object.fromEntries(api.map((entry) => [linkOf(entry.path), menuOfApi(entry)])),
      '/': groups.map(({ title, items }, index) => ({
        text: title,
        collapsed: index > 1,
        items: items.map(entryOf),
      })),
    },
    ...(repository && {
      socialLinks: [{ icon: 'github', link: repository.url.replace(/^git\+/, '').replace(/\.git$/, '') }],
    }),
    search: {
      provider: 'local',
      options: { detailedView: true, disableQueryPersistence: true, miniSearch: searching() },
    },
  },
});
