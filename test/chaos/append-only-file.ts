import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimLog } from './claim-log.js';
import type { Written } from './history.js';
import { ODD } from './jobs.mjs';

const FINAL = new Set(['success', 'error']);
const RESULT_FIELDS = new Set(['status', 'output', 'error']);

interface Account {
  completions: number;
  successes: number;
  changes: string[];
  retries: number;
  deleted: boolean;
  steps?: Map<string, Set<string>>;
  status?: string;
}

/**
 * Reads the writes of each job from a server's append-only file, by `fn#id`, also those that no subscriber was
 * told of.
 *
 * @param directory the server's
 * @param claims is told of all writes as well
 */
export async function writtenJobs(directory: string, claims?: ClaimLog): Promise<Map<string, Written>> {
  const accounts = new Map<string, Account>();
  const folder = join(directory, 'appendonlydir');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
  for (const file of files) {
    for await (const command of commandsOf(createReadStream(join(folder, file)))) {
      account(accounts, command);
      claims?.read(command);
    }
  }
  return accounts;
}

function account(accounts: Map<string, Account>, [verb, key = '', ...pairs]: readonly string[]): void {
  if (/^(?:del|unlink)$/i.test(verb ?? '')) return noteDeleted(accounts, [key, ...pairs]);
  if (!/^hm?set$/i.test(verb ?? '')) return;
  // What is no number a hostile client made up, and writes as it likes.
  const [, fn, id] = /^job:(.*):(\d+)$/s.exec(key) ?? [];
  if (fn === undefined || fn.startsWith(`${ODD}:`)) return;
  const name = `${fn}#${id}`;
  const job = accounts.get(name) ?? { completions: 0, successes: 0, changes: [], retries: 0, deleted: false };
  accounts.set(name, job);
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < pairs.length; i += 2) fields.set(pairs[i] as string, pairs[i + 1] as string);
  note(job, fields);
}

function noteDeleted(accounts: Map<string, Account>, keys: readonly string[]): void {
  for (const key of keys) {
    const [, fn, id] = /^job:(.*):(\d+)$/s.exec(key) ?? [];
    const job = accounts.get(`${fn}#${id}`);
    if (job) job.deleted = true;
  }
}

function note(job: Account, fields: ReadonlyMap<string, string>): void {
  const status = fields.get('status');
  const touched = [...fields.keys()].filter((field) => RESULT_FIELDS.has(field));
  const isRetried = fields.has('retried');
  for (const [field, value] of fields)
    if (field.startsWith('step:')) noteStep(job, field.slice('step:'.length), value);
  if (isRetried) job.retries += 1;
  if (job.deleted) job.changes.push(`deleted → ${[...fields.keys()].join(', ')}`);
  if (!isRetried && job.status !== undefined && FINAL.has(job.status) && touched.length > 0) {
    job.changes.push(`${job.status} → ${touched.map((field) => `${field} ${fields.get(field)}`).join(', ')}`);
  }
  if (status !== undefined) job.status = status;
  if (status !== undefined && FINAL.has(status)) job.completions += 1;
  if (status === 'success') job.successes += 1;
}

function noteStep(job: Account, name: string, value: string): void {
  job.steps ??= new Map();
  job.steps.set(name, (job.steps.get(name) ?? new Set()).add(value));
}

/** The commands of a stream in Redis' own notation: `*2 $3 GET $1 a`, each part ended by CRLF. */
async function* commandsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    let offset = 0;
    for (let read = readCommand(bytes, offset); read; read = readCommand(bytes, offset)) {
      offset = read.end;
      yield read.words;
    }
    bytes = bytes.subarray(offset);
  }
}

/** `undefined` where the command goes on behind the end. */
function readCommand(bytes: Buffer, from: number): { words: string[]; end: number } | undefined {
  const words: string[] = [];
  let line = readNumber(bytes, from);
  const count = line?.value ?? 0;
  while (line && words.length < count) {
    const length = readNumber(bytes, line.end);
    if (!length || length.end + length.value + 2 > bytes.length) return undefined;
    words.push(bytes.toString('latin1', length.end, length.end + length.value));
    line = { value: 0, end: length.end + length.value + 2 };
  }
  return line && { words, end: line.end };
}

/** The number of a line such as `*3` or `$12`. */
function readNumber(bytes: Buffer, from: number): { value: number; end: number } | undefined {
  const end = bytes.indexOf('\r\n', from, 'latin1');
  return end < 0 ? undefined : { value: Number(bytes.toString('latin1', from + 1, end)), end: end + 2 };
}
