import { withParts, type ReadLua } from './includes.js';
import { LUA } from './lua.embedded.js';

/** Folders that are searched for a part, in this order. */
type Form = readonly string[];

/** Keys begin with KEYS[1], and '' as the time means the server's. */
const CLIENT: Form = ['forms/client', 'parts'];
const UNIFIED: Form = ['parts'];
const CLUSTER: Form = ['forms/cluster', 'parts'];
const LEGACY: Form = ['forms/legacy', 'parts'];

/** Compared first, in this order. */
const FREQUENT = ['pop', 'complete', 'put', 'heartbeat', 'retry', 'fail', 'get', 'peek'];

function namesIn(folder: string): string[] {
  return Object.keys(LUA)
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1))
    .sort();
}

function readFile(name: string): string {
  const text = LUA[name];
  if (text === undefined) throw new Error(`There is no Lua file "${name}".`);
  return text;
}

const parts = new Map(
  ['forms/client', 'forms/cluster', 'forms/legacy', 'parts'].map((folder) => [folder, namesIn(folder)]),
);

/** Finds a file: a name with a folder is that file, another is a part in the first folder that contains it. */
function reader(form: Form): ReadLua {
  return (name) => {
    if (name.includes('/')) return readFile(name);
    const folder = form.find((candidate) => parts.get(candidate)?.includes(name));
    if (!folder) throw new Error(`None of ${form.join(', ')} has the part "${name}".`);
    return readFile(`${folder}/${name}`);
  };
}

/** The commands of the unified form: the names of the files of commands/. */
export const COMMANDS: readonly string[] = namesIn('commands');

/** The scripts of the first generation's form. */
export const LEGACY_SCRIPTS: readonly string[] = namesIn('legacy');

/** Makes one command a separate script: KEYS[1] the prefix, ARGV the time and the command's arguments. */
export function clientScript(command: string): string {
  return assembled(CLIENT, ['prefix', 'deferred-work', 'now'], `commands/${command}`);
}

/** Makes a script that only our job source calls, in the same form. */
export function sourceScript(name: string): string {
  return assembled(CLIENT, ['prefix', 'deferred-work', 'now'], `source/${name}`);
}

/** A script of the first generation's form, with its own KEYS and ARGV. */
export function legacyScript(name: string): string {
  return assembled(LEGACY, ['prefix', 'deferred-work'], `legacy/${name}`);
}

/** Makes one script of all commands; the command is the first argument. Each command is a branch, so that a call creates only its own functions. */
export function unifiedScript(form: 'single' | 'cluster' = 'single'): string {
  const read = reader(form === 'cluster' ? CLUSTER : UNIFIED);
  const known = new Set<string>();
  const order = [...FREQUENT, ...COMMANDS.filter((command) => !FREQUENT.includes(command))];
  const lines = [
    `local COMMANDS = ' ${COMMANDS.join(' ')} '`,
    ...framed(['prefix', 'keys', 'deferred-work', 'command'], read, known),
    ...order.flatMap((command, index) => [
      `${index === 0 ? 'if' : 'elseif'} command == '${command}' then`,
      ...withParts(`commands/${command}`, read, new Set(known)).map((line) => `  ${line}`),
    ]),
    'else',
    "  error('Unknown command ' .. command)",
    'end',
  ];
  return (
    '-- qless: every command, built from lib/qless/wire/scripts of nestjs-gearmonkey. EVALSHA sha 0 command now args\n' +
    stripped(lines)
  );
}

function assembled(form: Form, frame: readonly string[], file: string): string {
  const read = reader(form);
  const known = new Set<string>();
  return stripped([...framed(frame, read, known), ...withParts(file, read, known)]);
}

/** The beginning of a script: prefix, now, args, which any file may use without an include. */
function framed(frame: readonly string[], read: ReadLua, known: Set<string>): string[] {
  return frame.flatMap((name) => {
    known.add(name);
    return withParts(name, read, known);
  });
}

/** The files that the build ships, by their path within dist/qless. */
export function builtScripts(): Map<string, string> {
  return new Map([
    ['qless.lua', unifiedScript()],
    ['qless-cluster.lua', unifiedScript('cluster')],
    ...LEGACY_SCRIPTS.map((name) => [`legacy/${name}.lua`, legacyScript(name)] as const),
  ]);
}

/** Removes comments, which stay in the sources. */
function stripped(lines: readonly string[]): string {
  return (
    lines
      .join('\n')
      .replace(/^ *--.*\n/gm, '')
      .replace(/^\s*\n/gm, '')
      .trimEnd() + '\n'
  );
}
