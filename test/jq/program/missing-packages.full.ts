import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Http } from '../master/http.js';
import { killProcessesAfterEach, Process, urlOf } from './processes.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What was built, beside the packages that its `package.json` names, but for some of them. */
async function installedWithout(folder: string, missing: readonly string[]): Promise<string> {
  const { dependencies, peerDependencies } = JSON.parse(
    await readFile(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies', object>;
  const names = [...Object.keys(dependencies), ...Object.keys(peerDependencies), 'express'];
  for (const name of names.filter((each) => !missing.includes(each))) {
    const link = join(folder, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), link);
  }
  for (const path of ['dist', 'package.json']) {
    await cp(join(ROOT, path), join(folder, path), { recursive: true });
  }
  return join(folder, 'dist/cli/jq-master.js');
}

describe('jq-master without packages that it can be installed without', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jq-missing-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  killProcessesAfterEach();

  it.each(['undici', '@nestjs/platform-express'])('says how to install %s, and ends', async (missing) => {
    const program = await installedWithout(join(folder, missing), [missing]);
    const master = new Process(process.execPath, [program, '--port', '0']);
    await expect(master.exit()).resolves.toBe(1);
    expect(master.errors).toContain(`Cannot find package '${missing}'`);
    expect(master.errors).toContain('npm install @nestjs/platform-express undici');
    expect(master.errors).not.toContain('    at ');
    expect(master.lines).toEqual([]);
  });

  it('serves without @nestjs/swagger and prom-client, and so without the page and metrics', async () => {
    const program = await installedWithout(join(folder, 'plain'), ['@nestjs/swagger', 'prom-client']);
    const args = [program, '--port', '0', '--redis', 'redis://127.0.0.1:1'];
    const http = new Http(await urlOf(new Process(process.execPath, args)));
    const statusOf = async (path: string) => (await http.call('GET', path)).status;
    await expect(
      Promise.all(['/docs', '/metrics', '/openapi.json', '/health/live'].map(statusOf)),
    ).resolves.toEqual([404, 404, 200, 200]);
  });
});
