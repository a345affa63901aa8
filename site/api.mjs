import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, ReflectionKind } from 'typedoc';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes a page for each class and function of the package's entry points, and one with the rest of each.
 *
 * @param {string} out
 * @returns {Promise<{ text: string, path: string, items: { text: string, path: string }[] }[]>} the pages by entry point
 */
export async function writeApi(out) {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const entries = Object.entries(exports)
    .filter(([, file]) => typeof file === 'object')
    .map(([entry, { types }]) => ({
      module: entry.replace('.', name),
      folder: entry === '.' ? 'main' : entry.slice('./'.length),
      source: join(ROOT, types.replace('dist', 'lib').replace(/\.d\.ts$/, '.ts')),
    }));
  const app = await Application.bootstrapWithPlugins({
    entryPoints: entries.map(({ source }) => source),
    tsconfig: join(ROOT, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown'],
    name,
    readme: 'none',
    disableGit: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    // The build checks types; comments name what is not exported too.
    skipErrorChecking: true,
    validation: false,
    logLevel: 'Error',
    outputs: [{ name: 'markdown', path: out }],
    entryFileName: 'index',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    membersWithOwnFile: ['Class', 'Function', 'Interface'],
    pageTitleTemplates: {
      index: 'API',
      module: ({ name: folder }) => entries.find((entry) => entry.folder === folder)?.module ?? folder,
      member: '{name}',
    },
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    enumMembersFormat: 'table',
    useCodeBlocks: true,
  });
  const project = await app.convert();
  if (!project) throw new Error('TypeDoc could not read lib/.');
  for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
    const source = project.getSymbolIdFromReflection(module)?.fileName;
    const entry = entries.find((one) => one.source === source);
    if (!entry) throw new Error(`TypeDoc has a module that is no entry point: ${module.name}, ${source}.`);
    module.name = entry.folder;
  }
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error('TypeDoc has failed, see above.');
  const pages = entries.map(({ module, folder }) => listed(out, module, folder));
  const list = pages.map(({ text, path }) => `- [${text}](${posix.relative('api', path)})`).join('\n');
  writeFileSync(
    join(out, 'index.md'),
    `# API\n\nThe classes, functions and types of each entry point, from the comments in the code.\n\n${list}\n`,
  );
  return pages;
}

/** An entry point and the pages of its classes and functions. */
function listed(out, module, folder) {
  const below = readdirSync(join(out, folder), { recursive: true, encoding: 'utf8', withFileTypes: true });
  const items = below
    .filter((entry) => entry.isFile() && /(?:classes|functions)$/.test(entry.parentPath))
    .map((entry) => ({
      text: entry.name.replace(/\.md$/, ''),
      path: posix.join('api', relative(out, entry.parentPath).split(sep).join('/'), entry.name),
    }))
    .sort((a, b) => a.text.localeCompare(b.text, 'en'));
  return { text: module, path: posix.join('api', folder, 'index.md'), items };
}
