import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  emptyRows,
  machinePaths,
  vagueFolders,
  violations,
  type Arrows,
  type Sources,
} from './support/architecture.js';

const root = fileURLToPath(new URL('..', import.meta.url));

const TOOLS = ['job', 'batching', 'net', 'package'];
const SYSTEM = [...TOOLS, 'worker', 'redis', 'nest'];
const CORE = [...SYSTEM, 'gearmonkey', 'embedded'];
const ARROWS: Arrows = {
  job: [],
  batching: ['job'],
  net: ['job'],
  package: ['job'],
  metrics: ['package', 'job', 'nest'],
  health: ['job', 'nest'],
  tracing: ['package', 'job'],
  dashboard: [...CORE],
  worker: ['job', 'batching'],
  redis: ['job', 'batching'],
  gearmonkey: ['job', 'batching', 'worker', 'redis'],
  embedded: ['job', 'redis', 'gearmonkey'],
  nest: ['job', 'batching', 'worker', 'redis', 'gearmonkey', 'embedded'],
  index: CORE,
  testing: CORE,
  bullmq: CORE,
  qless: SYSTEM,
  jq: [...SYSTEM, 'metrics'],
  jobd: [...TOOLS, 'metrics', 'worker', 'nest'],
  doctor: ['job', 'redis', 'gearmonkey'],
  import: ['job', 'redis', 'gearmonkey'],
  // On no other list, so that nothing imports it.
  cli: [...CORE, 'index', 'doctor', 'import', 'dashboard', 'qless', 'jq', 'jobd'],

  'embedded/lua': [],
  'embedded/store': ['lua'],
  'embedded/index': ['lua', 'store'],

  'gearmonkey/core': [],
  'gearmonkey/features': ['core'],
  'gearmonkey/index': ['core', 'features'],

  'gearmonkey/core/wire': [],
  'gearmonkey/core/client': ['wire'],
  'gearmonkey/core/source': ['wire'],
  'gearmonkey/core/index': ['client', 'source', 'wire'],

  'gearmonkey/features/edits': [],
  'gearmonkey/features/flows': [],
  'gearmonkey/features/keep': [],
  'gearmonkey/features/limits': [],
  'gearmonkey/features/schedules': [],
  'gearmonkey/features/signals': [],
  'gearmonkey/features/statistics': [],
  'gearmonkey/features/steps': [],
  'gearmonkey/features/streams': [],
  'gearmonkey/features/tags': [],
  'gearmonkey/features/unique': [],
  'gearmonkey/features/views': [],
  'gearmonkey/features/index': [
    'edits',
    'flows',
    'keep',
    'limits',
    'schedules',
    'signals',
    'statistics',
    'steps',
    'streams',
    'tags',
    'unique',
    'views',
  ],

  'qless/wire': [],
  'qless/connection': [],
  'qless/queues': ['wire'],
  'qless/client': ['wire', 'connection', 'queues'],
  'qless/source': ['wire', 'connection', 'queues'],
  'qless/nest': ['client'],
  'qless/index': ['wire', 'connection', 'client', 'source', 'nest'],

  'jq/message-pack': [],
  'jq/wire': ['message-pack'],
  'jq/http': ['message-pack', 'wire'],
  'jq/constraints': ['message-pack', 'wire'],
  'jq/engine': ['message-pack', 'wire', 'constraints'],
  'jq/master': ['message-pack', 'wire', 'http', 'constraints', 'engine'],
  'jq/worker': ['message-pack', 'wire', 'http'],
  'jq/client': ['message-pack', 'wire', 'http'],
  'jq/nest': ['master', 'client'],
  'jq/index': [
    ...['message-pack', 'wire', 'http', 'constraints', 'engine', 'master', 'worker', 'client', 'nest'],
  ],

  'jobd/vocabulary': [],
  'jobd/launcher': ['vocabulary'],
  'jobd/storage': ['vocabulary'],
  'jobd/protocol': ['vocabulary'],
  'jobd/membership': ['vocabulary', 'launcher', 'storage'],
  'jobd/rows': ['vocabulary', 'storage'],
  'jobd/daemon': ['vocabulary', 'launcher', 'storage', 'membership', 'rows'],
  'jobd/worker': ['vocabulary', 'protocol'],
  'jobd/master': ['vocabulary', 'protocol'],
  'jobd/source': ['vocabulary', 'storage', 'protocol', 'membership', 'rows', 'worker'],
  'jobd/monitor': ['vocabulary'],
  'jobd/config': ['vocabulary', 'storage', 'protocol', 'rows', 'daemon'],
  'jobd/jobctl': ['vocabulary', 'protocol', 'master', 'config'],
  'jobd/nest': ['vocabulary', 'storage', 'protocol', 'rows', 'daemon', 'worker', 'master', 'source'],
  'jobd/program': [
    'vocabulary',
    'storage',
    'protocol',
    'daemon',
    'worker',
    'master',
    'monitor',
    'config',
    'jobctl',
  ],
  'jobd/index': [
    'vocabulary',
    'launcher',
    'storage',
    'protocol',
    'rows',
    'daemon',
    'worker',
    'master',
    'source',
    'nest',
  ],
  'jobd/launcher/native': [],
  'jobd/launcher/index': ['native'],
};

/** Split in two, so that this file does not break its own rule. */
const MACHINE_PATHS = [
  ['/wo', 'rk/'],
  ['/ro', 'ot/'],
  ['/tmp/pro', 'be'],
].map((halves) => halves.join(''));

/** All others use `TestProcess`, `runProgram` and `runScript`. */
const MAY_START_PROCESSES = [
  'test/architecture.spec.ts',
  'test/chaos/processes.ts',
  'test/jq/load/main.ts',
  'test/soak/soak-process.ts',
  'test/support/postgres-server.ts',
  'test/support/redis-server.ts',
  'test/support/server-process.ts',
  'test/support/test-process.ts',
];

/** What is to be looked at when a feature is removed, besides its own folder: docs/understand/architecture.md says what it is. */
const FEATURES_OUTSIDE = {
  bullmq: ['schedules'],
  cli: ['schedules'],
  dashboard: ['schedules', 'views'],
  import: ['schedules', 'unique'],
  index: ['edits', 'flows', 'limits', 'schedules'],
  nest: ['schedules'],
  testing: ['edits', 'flows', 'limits', 'schedules', 'steps', 'streams', 'unique'],
};

/**
 * Parts of features that scripts outside of their folder include: most look there only if the function or the job uses the
 * feature, and are sent as they are all the same.
 */
const LUA_OF_FEATURES_OUTSIDE = {
  core: {
    'cancel-job': ['flows/unbegun', 'limits/limit-refusal', 'limits/limits'],
    claim: ['limits/idle-limit', 'limits/limit-hooks', 'limits/limit-prefix'],
    create: ['tags/tagged', 'tags/tags'],
    expire: ['flows/unbegun'],
    look: ['limits/idle-limit', 'limits/limit-turns', 'limits/limits', 'signals/signals'],
  },
  edits: {
    cancel: ['limits/limit-prefix'],
    drained: ['flows/unbegun'],
    update: ['flows/unbegun', 'limits/limit-prefix', 'limits/move-limited'],
  },
  flows: {
    'enqueue-after': ['tags/tagged', 'tags/tags'],
    'flow-jobs': ['tags/tagged', 'tags/tags'],
  },
  limits: {
    'drain-limited': ['edits/drained'],
    'enqueue-limited': ['tags/tags'],
  },
  signals: {
    signal: ['limits/limit-prefix'],
    signals: ['flows/unbegun', 'limits/limits'],
  },
  unique: {
    unique: ['tags/tagged', 'tags/tags'],
  },
  views: {
    'find-jobs': ['limits/limit-prefix', 'limits/limits', 'tags/tag-entry'],
    'job-fields': ['flows/unbegun'],
    'list-jobs': ['limits/limit-prefix', 'limits/limits'],
    mend: [
      'flows/flow-functions',
      'flows/unbegun',
      'limits/limit-prefix',
      'limits/limit-refusal',
      'limits/limits',
    ],
    overview: ['limits/limit-prefix', 'limits/limits'],
    'read-job': ['flows/unbegun'],
    'read-payload': ['flows/unbegun'],
  },
};

/** The folder of a script of GearMonkey, and its name: '' if it stands where none belongs. */
function luaPlace(path: string): [folder: string, name: string] {
  const [, feature = 'core', name = ''] =
    /^lib\/gearmonkey\/(?:features\/(\w+)|core\/wire)\/scripts\/([\w-]+)\.lua$/.exec(path) ?? [];
  return [feature, name];
}

/** What git knows or would add. */
function repositoryFiles(): string[] {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  return list
    .toString()
    .split('\0')
    .filter((path) => path && existsSync(join(root, path)));
}

const paths = repositoryFiles();
const read = (chosen: readonly string[]): Sources =>
  new Map(chosen.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const lib = paths.filter((path) => path.startsWith('lib/'));

describe('lib', () => {
  it('imports along the arrows of the design, without cycles, any, non-null ! or silenced errors', () => {
    const sources = read(lib.filter((path) => path.endsWith('.ts')));
    expect(sources.size).toBeGreaterThan(40);
    expect(violations(sources, ARROWS)).toEqual([]);
  });

  it('has a file in each folder of the design', () => {
    expect(emptyRows(lib, ARROWS)).toEqual([]);
  });

  it('has the tests of each feature of GearMonkey under its name', () => {
    const features = ARROWS['gearmonkey/features/index'] ?? [];
    const tested = features.filter((name) =>
      paths.some((path) => path.startsWith(`test/gearmonkey/${name}/`) && path.endsWith('.spec.ts')),
    );
    expect([tested.length > 10, tested]).toEqual([true, features]);
  });

  it('names a feature of GearMonkey outside of its folder only where the list says so', () => {
    const found: Record<string, string[]> = {};
    for (const [path, text] of read(
      lib.filter((one) => one.endsWith('.ts') && !/gearmonkey\/features\//.test(one)),
    )) {
      const [, place = ''] = /^lib\/([^/.]+)/.exec(path) ?? [];
      for (const [, feature = ''] of text.matchAll(/from '[^']*\/features\/(\w+)\//g))
        found[place] = [...new Set([...(found[place] ?? []), feature])].sort();
    }
    expect(found).toEqual(FEATURES_OUTSIDE);
  });

  it('has each script of GearMonkey in a folder of the core or of a feature, and includes from others only what the list says', () => {
    const scripts = read(lib.filter((path) => path.startsWith('lib/gearmonkey/') && path.endsWith('.lua')));
    const folders = new Map([...scripts.keys()].map(luaPlace).map(([folder, name]) => [name, folder]));
    expect([folders.size, folders.has('')]).toEqual([scripts.size, false]);
    const found: Record<string, Record<string, string[]>> = {};
    for (const [path, text] of scripts) {
      const [folder, name] = luaPlace(path);
      const others = [...text.matchAll(/^ *-- include ([\w-]+)/gm)]
        .map(([, part = '']) => [folders.get(part), part] as const)
        .filter(([of]) => of !== folder && of !== 'core')
        .map(([of, part]) => `${of}/${part}`);
      if (others.length > 0) (found[folder] ??= {})[name] = others.sort();
    }
    expect(found).toEqual(LUA_OF_FEATURES_OUTSIDE);
  });

  it('calls the C library through one door', () => {
    const callers = [...read(lib.filter((path) => path.startsWith('lib/jobd/')))]
      .filter(([path, text]) => !path.includes('/native/') && text.includes('/native/'))
      .map(([path]) => path);
    expect(callers).toEqual(['lib/jobd/launcher/start-process.ts']);
  });

  it('has no folder named after a kind of file', () => {
    expect(vagueFolders(lib)).toEqual([]);
  });
});

describe('package.json', () => {
  it('exports exactly the folders with an index.ts', () => {
    const folders = readdirSync(join(root, 'lib'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(join(root, 'lib', entry.name, 'index.ts')))
      .map(({ name }) => `./${name}`);
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      exports: Record<string, unknown>;
    };
    expect(Object.keys(exports).sort()).toEqual(['.', './package.json', ...folders].sort());
  });
});

describe('test', () => {
  it('starts processes only where their output is shown on failure', () => {
    const starters = paths
      .filter((path) => path.startsWith('test/') && path.endsWith('.ts'))
      .filter((path) => readFileSync(join(root, path), 'utf8').includes("from 'node:child_process'"));
    expect(starters.filter((path) => !MAY_START_PROCESSES.includes(path))).toEqual([]);
  });
});

describe('the repository', () => {
  it('contains no path of a developer machine', () => {
    expect(machinePaths(read(paths), MACHINE_PATHS)).toEqual([]);
  });
});

describe('the checks themselves', () => {
  const made = (files: Record<string, string>) => violations(new Map(Object.entries(files)), ARROWS);

  it.each([
    ['an import against the arrows', "import { a } from '../nest/a.js';"],
    ['a type import', "import type { A } from '../nest/a.js';"],
    ['a re-export', "export * from '../nest/a.js';"],
    ['a dynamic import', "const a = await import('../nest/a.js');"],
    ['an import type', "let a: import('../nest/a.js').A;"],
  ])('find %s', (_, text) => {
    expect(made({ 'lib/job/b.ts': text, 'lib/nest/a.ts': '' })).toEqual([
      'lib/job/b.ts imports lib/nest/a.ts: "job" may import nothing',
    ]);
  });

  it('know which system may use which, and that no system uses the tools', () => {
    const importing = (from: string, to: string) =>
      made({ [`lib/${from}/a.ts`]: `import '../${to}/b.js';`, [`lib/${to}/b.ts`]: '' }).length;
    expect(importing('jq', 'redis')).toBe(0);
    expect(importing('jq', 'qless')).toBe(1);
    expect(importing('qless', 'jq')).toBe(1);
    expect(importing('jobd', 'qless')).toBe(1);
    expect(importing('qless', 'gearmonkey')).toBe(1);
    expect(importing('worker', 'redis')).toBe(1);
    expect(importing('nest', 'cli')).toBe(1);
  });

  it('know sub-folders, and folders inside these', () => {
    const importing = (file: string, specifier: string, ...others: string[]) =>
      made(Object.fromEntries([[file, `import '${specifier}';`], ...others.map((other) => [other, ''])]));
    const [source, wire] = ['lib/gearmonkey/core/source/a.ts', 'lib/gearmonkey/core/wire/deep/b.ts'];
    const feature = 'lib/gearmonkey/features/limits/a.ts';
    expect(importing(source, '../wire/deep/b.js', wire)).toEqual([]);
    expect(importing('lib/gearmonkey/a.ts', './core/wire/deep/b.js', wire)).toEqual([]);
    expect(importing('lib/embedded/a.ts', '../gearmonkey/core/wire/deep/b.js', wire)).toEqual([]);
    expect(importing(feature, '../../core/source/a.js', source)).toEqual([]);
    expect(importing(source, '../../features/limits/a.js', feature)).toEqual([
      `${source} imports ${feature}: "gearmonkey/core" may import nothing`,
    ]);
    expect(importing(wire, '../../source/a.js', source)).toEqual([
      `${wire} imports ${source}: "gearmonkey/core/wire" may import nothing`,
    ]);
    expect(importing(source, '../../b.js', 'lib/gearmonkey/b.ts')).toEqual([
      `${source} imports lib/gearmonkey/b.ts: "gearmonkey/core" may import nothing`,
    ]);
    expect(importing(source, '../../../embedded/b.js', 'lib/embedded/b.ts')).toHaveLength(1);
    expect(made({ 'lib/gearmonkey/extra/a.ts': '' })).toEqual([
      'lib/gearmonkey/extra/a.ts: the folder "gearmonkey/extra" has no place in the architecture',
    ]);
    const arrows = { job: [], 'job/a': [], 'job/b': [] };
    expect(emptyRows(['lib/job/a/c.ts'], arrows)).toEqual(['job/b']);
  });

  it('find cycles between files, unknown folders, and imports from outside lib', () => {
    const one = "import './b.js';";
    const two = "import './a.js';";
    expect(made({ 'lib/job/a.ts': one, 'lib/job/b.ts': two })).toEqual([
      'cycle: lib/job/a.ts -> lib/job/b.ts -> lib/job/a.ts',
    ]);
    expect(made({ 'lib/extra/a.ts': '' })).toEqual([
      'lib/extra/a.ts: the folder "extra" has no place in the architecture',
    ]);
    expect(made({ 'lib/job/a.ts': "import '../../test/a.js';" })).toHaveLength(1);
  });

  it('find any, non-null ! and silenced errors in code, but not in strings and comments', () => {
    const text = [
      'const a: any = 1;',
      'const b = a!;',
      '// @ts-ignore',
      '// @ts-expect-error',
      "const c = 'any'; // any! of them",
      'const d = a as Record<string, any>;',
    ];
    expect(made({ 'lib/job/a.ts': text.join('\n') })).toEqual([
      'lib/job/a.ts:1 any',
      'lib/job/a.ts:2 a non-null !',
      'lib/job/a.ts:6 any',
      'lib/job/a.ts:3 a comment that silences the compiler',
      'lib/job/a.ts:4 a comment that silences the compiler',
    ]);
  });

  it('find vague folders and paths of one machine', () => {
    expect(vagueFolders(['lib/job/utils/a.ts', 'lib/utils.ts'])).toEqual(['lib/job/utils/a.ts']);
    const [place = ''] = MACHINE_PATHS;
    expect(machinePaths(new Map([['a.md', `one\nsee ${place}x`]]), MACHINE_PATHS)).toEqual([
      `a.md:2 names ${place}`,
    ]);
  });
});
