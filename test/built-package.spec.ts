import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LIST_LOADED, tooMuchOf } from './support/loaded-files.js';
import { runProgram } from './support/test-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOCK = new URL('../package-lock.json', import.meta.url);

/** An app on the built package, which its own name finds here too, without a compiler. */
const APP = (head: string) => `${head}
class Greeter {
  greet(name) {
    return 'Hello, ' + name + '!';
  }
}
Worker('greet')(Greeter.prototype, 'greet', Object.getOwnPropertyDescriptor(Greeter.prototype, 'greet'));
class App {}
Module({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })], providers: [Greeter] })(App);
async function main() {
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  console.log(await app.get(GearMonkeyClient).call('greet', 'Ada'));
  await app.close();
}
void main();
`;
const BY_IMPORT = `import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';`;
const BY_REQUIRE = `require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { GearMonkeyClient, GearMonkeyModule, Worker } = require('nestjs-gearmonkey');`;

/** @param type of the module */
async function run(type: 'module' | 'commonjs', program: string): Promise<string> {
  const { stdout } = await runProgram(process.execPath, [`--input-type=${type}`, '--eval', program], {
    cwd: ROOT,
  });
  return stdout;
}

describe('the built package', () => {
  it('runs a handler by import and by require', async () => {
    await expect(run('module', APP(BY_IMPORT))).resolves.toBe('Hello, Ada!\n');
    await expect(run('commonjs', APP(BY_REQUIRE))).resolves.toBe('Hello, Ada!\n');
  });

  it('is few files, and loads a part of them with its root, no optional package and no other entry point', async () => {
    const built = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(built.filter((path) => path.endsWith('.js')).length).toBeLessThan(120);
    const loaded = (await run('module', LIST_LOADED)).split('\n');
    expect(tooMuchOf(loaded)).toEqual([]);
    const own = loaded.filter((path) => path.startsWith('file:') && path.includes('/dist/chunks/'));
    expect(own.length).toBeGreaterThan(5);
    expect(own.length).toBeLessThan(40);
  });

  it('has the names of classes, which errors and logs show', () => {
    const built = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' });
    const texts = built
      .filter((path) => path.endsWith('.js'))
      .map((path) => readFileSync(join(ROOT, 'dist', path), 'utf8'));
    // What two modules name alike, a bundler numbers. Of classes, it would be their name.
    expect(texts.flatMap((text) => text.match(/\bclass \w+\$\d+|\w+\$\d+ = class\b/g) ?? [])).toEqual([]);
    expect(texts.filter((text) => text.includes(' = class GearMonkeyModule {')).length).toBe(1);
  });
});

describe('package-lock.json', () => {
  it('lists the optional packages of every system, without which `npm ci` fails', () => {
    const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
    const asked = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    // After a change of dependencies: node scripts/complete-lock.mjs
    expect(asked.filter((name) => !packages[`node_modules/${name}`])).toEqual([]);
  });
});
