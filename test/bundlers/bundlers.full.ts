import { describe, expect, it } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { runProgram } from '../support/test-process.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { stopProgramsAfterEach } from '../support/worker-process.js';
import { BundledProject } from './bundled-project.js';
import { outlivesKills } from './outlives-kills.js';

/** ncc alone takes more than ten seconds of computing. */
const TIMEOUT_MS = 400_000;

/** What the app with HTTP uses. */
const OPTIONAL = [
  '@nestjs/platform-express',
  '@nestjs/terminus',
  '@nestjs/testing',
  '@opentelemetry/api',
  'prom-client',
];

const FILES = {
  esbuild: 'app.mjs',
  'esbuild as CommonJS': 'app.cjs',
  webpack: 'app.cjs',
  rspack: 'app.cjs',
  ncc: 'index.js',
};

describe('an app in one file', () => {
  const redis = useRedis();
  const apps = useApps();
  stopProgramsAfterEach();

  it.each(Object.entries(FILES))(
    'made by %s runs jobs, keeps them while it blocks, and loses none when it is ended',
    async (heading, main) => {
      const project = await BundledProject.make();
      try {
        const folder = await project.bundle(heading);
        const files = await readdir(folder);
        expect(files).toContain(main);
        // ncc makes files of what Nest imports when it needs it.
        if (heading !== 'ncc') expect(files).toHaveLength(1);
        await project.removeSources();
        const client = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: redis.url })] });
        await outlivesKills({ file: join(folder, main), cwd: folder }, client.get(GearMonkeyClient), redis);
      } finally {
        await project.remove();
      }
    },
    TIMEOUT_MS,
  );

  it.each(['esbuild', 'rspack'] as const)(
    'made by %s has every entry point, without any optional package',
    async (heading) => {
      const project = await BundledProject.make('every-entry.ts');
      try {
        const folder = await project.bundle(heading);
        await project.removeSources();
        const { stdout } = await runProgram(process.execPath, [join(folder, FILES[heading])], {
          cwd: folder,
        });
        expect(stdout).toBe('7 MISSING_PACKAGE\n');
      } finally {
        await project.remove();
      }
    },
  );

  it.each(['esbuild', 'esbuild as CommonJS', 'webpack', 'rspack'] as const)(
    'made by %s serves the dashboard, metrics and health, and traces',
    async (heading) => {
      const project = await BundledProject.make('web-app.ts', OPTIONAL);
      try {
        const folder = await project.bundle(heading);
        expect(await readdir(folder)).toHaveLength(1);
        await project.removeSources();
        const { stdout } = await runProgram(process.execPath, [join(folder, FILES[heading])], {
          cwd: folder,
        });
        expect(JSON.parse(stdout)).toEqual({
          called: 'Hello, Grace!',
          script: [200, 'text/javascript; charset=utf-8', true],
          functions: ['greet'],
          metrics: 'gearmonkey_jobs_enqueued_total',
          health: 'up',
          spans: ['send greet', 'process greet'],
          tested: 'Hello, Ada!',
        });
      } finally {
        await project.remove();
      }
    },
    TIMEOUT_MS,
  );
});
