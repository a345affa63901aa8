import { readdirSync, readFileSync } from 'node:fs';
import { withIncludes } from '../../redis/includes.js';

const SCRIPTS = new URL('./scripts/', import.meta.url);

/** Folders in which a piece is looked for; the first that has it wins. */
type Layers = readonly string[];

/** Keys begin with KEYS[1], and '' as the time means the server's. */
const CLIENT: Layers = ['client', 'core'];
const UNIFIED: Layers = ['core'];
const CLUSTER: Layers = ['cluster', 'core'];
const LEGACY: Layers = ['legacy/core', 'core'];

/** Tried first by the dispatcher, in this order. */
const FREQUENT = ['pop', 'complete', 'put', 'heartbeat', 'retry', 'fail', 'get', 'peek'];

function namesIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, SCRIPTS), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.lua'))
    .map(({ name }) => name.slice(0, -'.lua'.length))
    .sort();
}

const files = new Map<string, string>();

function readFile(name: string): string {
  const known = files.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(new URL(`${name}.lua`, SCRIPTS), 'utf8');
  files.set(name, text);
  return text;
}

const pieces = new Map(
  ['client', 'cluster', 'core', 'legacy/core'].map((folder) => [folder, namesIn(folder)]),
);

/** A name with a folder is that file, any other a piece of the first layer that has it. */
function reader(layers: Layers) {
  return (name: string): string => {
    if (name.includes('/')) return readFile(name);
    const layer = layers.find((folder) => pieces.get(folder)?.includes(name));
    if (!layer) throw new Error(`No layer of ${layers.join(', ')} has the piece "${name}".`);
    return readFile(`${layer}/${name}`);
  };
}

/** The commands of the unified form: the names of the files of verbs/. */
export const COMMANDS: readonly string[] = namesIn('verbs');

/** The scripts of the source document's form. */
export const LEGACY_SCRIPTS: readonly string[] = namesIn('legacy');

/** One command as a script of its own: KEYS[1] the prefix, ARGV the time and the command's arguments. */
export function clientScript(command: string): string {
  return ownScript(`verbs/${command}`);
}

/** What a job source asks, which is none of the commands, in the same form. */
export function sourceScript(name: string): string {
  return ownScript(`source/${name}`);
}

function ownScript(file: string): string {
  const text = ['-- include prefix', '-- include left-over', '-- include now', `-- include ${file}`].join(
    '\n',
  );
  return stripped(withIncludes(text, reader(CLIENT)));
}

/** All commands as one script, command first. Each one's code is in its branch, so that a call makes only that. */
export function unifiedScript(form: 'single' | 'cluster' = 'single'): string {
  const order = [...FREQUENT, ...COMMANDS.filter((command) => !FREQUENT.includes(command))];
  const branches = order.flatMap((command, index) => [
    `${index === 0 ? 'if' : 'elseif'} command == '${command}' then`,
    `  -- include verbs/${command}`,
  ]);
  const text = [
    '-- include prefix',
    '-- include keys',
    '-- include left-over',
    '-- include command',
    ...branches,
    'else',
    "  error('Unknown command ' .. command)",
    'end',
  ].join('\n');
  const names = [...COMMANDS].sort().join(' ');
  return (
    '-- qless: every command, built from lib/qless/scripts of nestjs-gearmonkey. EVALSHA sha 0 command now args\n' +
    stripped(withIncludes(text, reader(form === 'cluster' ? CLUSTER : UNIFIED))).replace(
      'COMMANDS',
      ` ${names} `,
    )
  );
}

/** A script of the source document's form, with its own KEYS and ARGV. */
export function legacyScript(name: string): string {
  return stripped(withIncludes(readFile(`legacy/${name}`), reader(LEGACY)));
}

/** What the build ships, by its path within dist/qless. */
export function builtScripts(): Map<string, string> {
  return new Map([
    ['qless.lua', unifiedScript()],
    ['qless-cluster.lua', unifiedScript('cluster')],
    ...LEGACY_SCRIPTS.map((name) => [`legacy/${name}.lua`, legacyScript(name)] as const),
  ]);
}

/** Comments stay in the sources. */
function stripped(text: string): string {
  return (
    text
      .replace(/^ *--\[=\[[\s\S]*?\]=\]\n/gm, '')
      .replace(/^ *--.*\n/gm, '')
      .replace(/^\s*\n/gm, '')
      .trimEnd() + '\n'
  );
}
