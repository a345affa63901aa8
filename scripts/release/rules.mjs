/** What a release must be. Each function returns the problems that it finds, a line each. */

/** Stands in package.json for the owner of the repository until there is one. Nothing else names the owner. */
export const PLACEHOLDER_OWNER = 'OWNER';

/** The most bytes that a release may have. Raise one only for something that is worth it to users. */
export const LIMITS = {
  /** of the tarball, which users download */
  packed: 1_600_000,
  /** of its files */
  unpacked: 6_200_000,
  /** by which an app with Nest grows, with the packages that this one needs */
  installed: 9_000_000,
};

/** Every file of a release is one of these. */
const ALLOWED = [
  /^(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/,
  /^dist\/THIRD-PARTY-LICENSES\.txt$/,
  /^dist\/([\w.-]+\/)*[\w.-]+\.(js|d\.ts)$/,
  // What workers and clients in other languages load.
  /^dist\/(gearmonkey\/scripts|qless)\/([\w.-]+\/)*[\w.-]+\.lua$/,
  /^docs\/([\w.-]+\/)*[\w.-]+\.(md|json)$/,
  // Templates of configurations and units.
  /^docs\/systems\/jobd\/[\w.-]+\.(example|service|conf)$/,
];
const FORBIDDEN = [
  { kind: 'notes', pattern: /^docs\/notes\// },
  { kind: 'a picture', pattern: /\.(png|svg|gif|jpe?g|webp)$/ },
  { kind: 'a test', pattern: /(^|\/)(test|__tests__)\/|\.(spec|full|check|test)\.\w+$/ },
  { kind: 'a source', pattern: /(?<!\.d)\.ts$|\.tsx$|\.map$/ },
];
const NEEDED = ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'dist/THIRD-PARTY-LICENSES.txt'];

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} homepage
 * @property {string} bugs
 * @property {{ type: string, url: string }} repository
 * @property {{ access: string, provenance: boolean, tag: string }} publishConfig
 * @property {Record<string, string | { types: string, default: string }>} exports
 * @property {Record<string, string>} bin
 */

/** @param {string[]} paths in the tarball @param {Manifest} manifest */
export function problemsOfContents(paths, { exports, bin }) {
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : [entry.types, entry.default],
  );
  const needed = [...NEEDED, ...[...entries, ...Object.values(bin)].map((path) => path.replace(/^\.\//, ''))];
  return [
    ...needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
    ...paths.flatMap((path) => {
      const forbidden = FORBIDDEN.find(({ pattern }) => pattern.test(path));
      if (forbidden) return [`${path} is ${forbidden.kind}`];
      return ALLOWED.some((pattern) => pattern.test(path))
        ? []
        : [`${path} is of no kind that a release has`];
    }),
  ];
}

/** @param {Record<keyof typeof LIMITS, number>} sizes */
export function problemsOfSizes(sizes) {
  return Object.entries(LIMITS)
    .filter(([name, limit]) => sizes[/** @type {keyof typeof LIMITS} */ (name)] > limit)
    .map(
      ([name, limit]) =>
        `${name}: ${sizes[/** @type {keyof typeof LIMITS} */ (name)]} bytes, at most ${limit} (scripts/release/rules.mjs)`,
    );
}

/**
 * @param {Manifest} manifest @param {string} changelog
 * @param {{ isReal: boolean }} how a rehearsal may have no owner and no date yet
 */
export function problemsOfVersion(manifest, changelog, { isReal }) {
  const { version, publishConfig } = manifest;
  const [, newest = 'none', when = ''] = /^## (\S+?)(?: - (\S+)|, (unreleased))?$/m.exec(changelog) ?? [];
  const tag = version.includes('-') ? version.replace(/^[^-]+-([a-z]+).*$/, '$1') : 'latest';
  const problems = [];
  if (newest !== version)
    problems.push(`package.json has version ${version}, CHANGELOG.md begins with ${newest}`);
  if (isReal && !/^\d{4}-\d\d-\d\d$/.test(when))
    problems.push(
      `CHANGELOG.md has no date: write "## ${version} - ${new Date().toISOString().slice(0, 10)}"`,
    );
  if (publishConfig.tag !== tag)
    problems.push(`publishConfig.tag is ${publishConfig.tag}; a version ${version} is published as ${tag}`);
  if (publishConfig.access !== 'public' || !publishConfig.provenance)
    problems.push('publishConfig must have "access": "public" and "provenance": true');
  return [...problems, ...problemsOfOwner(manifest, isReal)];
}

/** @param {Manifest} manifest @param {boolean} isReal */
function problemsOfOwner({ name, repository, bugs, homepage }, isReal) {
  const [, owner = ''] = /^git\+https:\/\/github\.com\/([\w-]+)\/[\w-]+\.git$/.exec(repository.url) ?? [];
  const url = `https://github.com/${owner}/${name}`;
  const problems = [];
  if (repository.url !== `git+${url}.git` || bugs !== `${url}/issues` || !homepage.startsWith('https://'))
    problems.push(`repository, bugs and homepage of package.json are not those of ${url}`);
  if (isReal && owner === PLACEHOLDER_OWNER)
    problems.push(
      `package.json names no owner yet: replace ${PLACEHOLDER_OWNER} in repository, bugs and homepage`,
    );
  return problems;
}

/** A number of bytes as documents say it. @param {number} bytes */
export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
