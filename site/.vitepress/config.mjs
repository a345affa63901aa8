import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';

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
    { text: 'Documentation', link: '/' },
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

/**
 * Questions are found, too: words that every question has don't count, and a word counts in all its forms.
 * The functions are sent to the browser as text, so each stands for itself.
 */
function searching() {
  return {
    options: {
      processTerm: (term) => {
        const word = term.toLowerCase();
        const common =
          ' a an and are as at be but by can do does for from get has have how i if in into is it its make me my not of on one or our so than that the their them then there they this to was we what when where which while why will with without would you your ';
        if (common.includes(` ${word} `)) return null;
        if (word.length < 5) return word;
        return word
          .replace(/ies$/, 'y')
          .replace(/(ss|us|is)$/, '$1_')
          .replace(/(?:ing|ed|es|s)$/, '')
          .replace(/_$/, '')
          .replace(/(.)\1$/, '$1')
          .replace(/(.{3,})e$/, '$1');
      },
    },
    searchOptions: {
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      prefix: (term) => term.length > 3,
      boost: { title: 4, text: 2, titles: 2 },
      // These are on each page.
      boostTerm: (term) => (/^(?:\d+|job|run|queue|worker|process)$/.test(term) ? 0.3 : 1),
      // What a name is comes after what to do with it, unless the name itself is asked for.
      boostDocument: (id) =>
        String(id).includes('/api/')
          ? 0.4
          : /\/(?:understand|systems|samples)\/|\/(?:options|errors)\./.test(String(id))
            ? 0.6
            : 1,
    },
  };
}
