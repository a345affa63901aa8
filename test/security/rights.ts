import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import type { Traced } from '../support/command-trace.js';

const DOCUMENT = fileURLToPath(new URL('../../docs/operate/security.md', import.meta.url));
const LIST = /^ACL SETUSER (\S+) on >PASSWORD resetkeys resetchannels -@all\s+([^`]+)/gm;
/** What a client's or worker's list has to have in addition. */
const ADDITION = /^ACL SETUSER (client|worker)\n([^`]+)/gm;
/** Who needs that, in the order of the page. */
const WITH_MORE = [
  'operator',
  'scheduler',
  'limited-client',
  'tagged-client',
  'viewer',
  'flow-client',
  'limited-worker',
  'flow-worker',
];
const CHUNK = 500;

export const PASSWORD = 'a-password-of-this-test';

/** `+command`, `~key` and `&channel` as ACL SETUSER takes them. */
export type Rights = readonly string[];

/** The lists of docs/operate/security.md by the name of their user; some have another's with an addition. */
export function documentedRights(): ReadonlyMap<string, Rights> {
  const page = readFileSync(DOCUMENT, 'utf8');
  const users = new Map([...page.matchAll(LIST)].map(([, name = '', rules = '']) => [name, split(rules)]));
  for (const [index, [, base = '', addition = '']] of [...page.matchAll(ADDITION)].entries())
    users.set(WITH_MORE[index] ?? '', [...(users.get(base) ?? []), ...split(addition)]);
  return users;
}

function split(rules: string): string[] {
  return rules.trim().split(/\s+/);
}

/** Nothing fails without these. */
const COMFORTS: Rights = ['+info', '+client|setname'];

export function needed(rights: Rights): Rights {
  return rights.filter((right) => !COMFORTS.includes(right));
}

/** How messages name a right. */
export function nameOf(right: string): RegExp {
  const name = right.slice(1).replace(/\*$|:\?.*$/, '');
  return new RegExp(name.replaceAll(/[{}]/g, '\\$&'), 'i');
}

/** Makes a user who may do this and nothing else. */
export async function grant(redis: Redis, user: string, rights: Rights): Promise<void> {
  await redis.acl('SETUSER', user, 'reset', 'on', `>${PASSWORD}`, ...rights);
}

/** What ACL LOG has had since it was last taken, a line each: who was refused what. */
export async function takeRefusals(redis: Redis): Promise<string[]> {
  const entries = (await redis.acl('LOG')) as unknown as unknown[][];
  await redis.acl('LOG', 'RESET');
  return entries.map((entry) => {
    const field = (name: string) => String(entry[entry.indexOf(name) + 1]);
    return `${field('username')}: ${field('reason')} ${field('object')} (${field('context')})`;
  });
}

/** Those of the rights without which all of these calls would still be allowed. */
export async function superfluous(
  redis: Redis,
  rights: Rights,
  calls: readonly Pick<Traced, 'command' | 'args'>[],
): Promise<string[]> {
  const unneeded: string[] = [];
  for (const right of rights) {
    const others = rights.filter((other) => other !== right);
    const named = right.startsWith('+')
      ? calls.filter(({ command }) => right.slice(1).startsWith(command))
      : calls;
    if (!(await refusesAny(redis, others, named))) unneeded.push(right);
  }
  return unneeded;
}

async function refusesAny(
  redis: Redis,
  rights: Rights,
  calls: readonly Pick<Traced, 'command' | 'args'>[],
): Promise<boolean> {
  await grant(redis, 'probe', rights);
  for (let from = 0; from < calls.length; from += CHUNK) {
    const pipeline = redis.pipeline();
    for (const { command, args } of calls.slice(from, from + CHUNK))
      pipeline.call('ACL', 'DRYRUN', 'probe', command, ...args);
    const verdicts = (await pipeline.exec()) ?? [];
    for (const [error] of verdicts) if (error) throw error;
    if (verdicts.some(([, verdict]) => verdict !== 'OK')) return true;
  }
  return false;
}
