import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { ownVersion } from '../../harness/packages.mjs';

const UNIFIED = new URL('../../../dist/qless/qless.lua', import.meta.url);

export const FORMS = [
  {
    key: 'typed',
    title: 'a script a command',
    version: ownVersion(),
    options: 'as our own client calls them: EVALSHA sha 1 ql: now args',
  },
  {
    key: 'unified',
    title: 'qless.lua',
    version: ownVersion(),
    options: 'as existing clients call it: EVALSHA sha 0 command now args',
  },
];

const EVALSHA = {
  typed: async () => {
    // Of the sources: dist/ has it inside a bundle.
    const { clientScript } = await import('../../../lib/qless/wire/assemble.js');
    const texts = new Map(
      ['put', 'pop', 'complete', 'complete.many'].map((name) => [name, clientScript(name)]),
    );
    const shas = new Map([...texts].map(([name, text]) => [name, shaOf(text)]));
    return {
      texts: [...texts.values()],
      argumentsOf: (command, args) => [shas.get(command), 1, 'ql:', ...args],
    };
  },
  unified: () => {
    const text = readFileSync(UNIFIED, 'utf8');
    const sha = shaOf(text);
    return { texts: [text], argumentsOf: (command, args) => [sha, 0, command, ...args] };
  },
};

/** @typedef {(command: string, args: unknown[]) => [sha: string, keys: number, ...args: string[]]} ArgumentsOf */

/** A connection whose server knows the scripts of this form. */
export async function connect(form, url) {
  const { texts, ...made } = await EVALSHA[form]();
  /** @type {ArgumentsOf} */
  const argumentsOf = made.argumentsOf;
  const redis = new Redis(url);
  await Promise.all(texts.map((text) => redis.script('LOAD', text)));
  return {
    redis,
    call: (command, ...args) => redis.evalsha(...argumentsOf(command, args)),
    /** Sends all calls before it reads the first reply. */
    pipeline: async (calls) => {
      const pipeline = redis.pipeline();
      for (const [command, ...args] of calls) pipeline.evalsha(...argumentsOf(command, args));
      return repliesOf(await pipeline.exec());
    },
  };
}

function repliesOf(results) {
  return results.map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

function shaOf(text) {
  return createHash('sha1').update(text).digest('hex');
}
