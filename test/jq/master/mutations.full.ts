import { beforeAll, describe, expect, it } from '@jest/globals';
import { decode, encode, ExtData, ExtensionCodec } from '@msgpack/msgpack';
import { isUtf8 } from 'node:buffer';
import { request as httpRequest, Agent } from 'node:http';
import { Random } from '../../chaos/random.mjs';
import { vector } from '../message-pack/vectors.js';
import { useMaster } from './use-master.js';

const SEED = 20_260_102;
const MUTATIONS = 2500;
const AT_ONCE = 50;
const MAX_INT32 = 2 ** 31 - 1;
const NO_JOB = '000000000fff-00000000';

/** Reads what another codec makes of the bytes: text but for keys stays bytes, so that what is no UTF-8 shows. */
const extensionCodec = new ExtensionCodec();
extensionCodec.decode = (data, type) => new ExtData(type, data);

type Judge = (body: Map<string, unknown>) => boolean;

const isInt = (min: number, max: number) => (value: unknown) =>
  (typeof value === 'number' || typeof value === 'bigint') &&
  Number.isInteger(Number(value)) &&
  value >= min &&
  value <= max;
const isText = (value: unknown): value is Uint8Array => value instanceof Uint8Array && isUtf8(value);
const isName = (value: unknown) => isText(value) && value.length >= 1 && value.length <= 255;
const isWord =
  (...words: string[]) =>
  (value: unknown) =>
    isText(value) && words.includes(String(Buffer.from(value)));
const optional = (rule: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || rule(value);
const all =
  (rules: Record<string, (value: unknown) => boolean>): Judge =>
  (body) =>
    Object.entries(rules).every(([field, rule]) => rule(body.get(field)));

describe('bodies that were changed by chance', () => {
  const master = useMaster();
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let worker: string;
  beforeAll(async () => {
    worker = await master.register();
  });

  const post = (path: string, body: Buffer, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const sent = httpRequest(master.url + path, { method: 'POST', agent, headers }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      sent.once('error', reject).end(body);
    });

  /** What became of each: its status, and whether its bytes are still in order. */
  async function send(path: string, bodies: readonly Buffer[], headers: Record<string, string> = {}) {
    const statuses: number[] = [];
    for (let i = 0; i < bodies.length; i += AT_ONCE) {
      const batch = bodies.slice(i, i + AT_ONCE);
      statuses.push(...(await Promise.all(batch.map((body) => post(path, body, headers)))));
    }
    return statuses;
  }

  const isJob = all({
    name: isName,
    argument: isMap,
    priority: optional(isInt(-MAX_INT32 - 1, MAX_INT32)),
    max_retry: optional(isInt(0, MAX_INT32)),
    keep_result: optional((value) => typeof value === 'boolean'),
    timeout: optional(isInt(1, MAX_INT32)),
  });
  const isWorker = all({ name: isName, max_jobs: isInt(1, MAX_INT32), url: absent, names: absent });
  const isFailure = all({
    type: isWord('failure'),
    reason: isWord('timeout', 'other'),
    should_retry: (value) => typeof value === 'boolean',
    message: isText,
  });
  const isReport = (body: Map<string, unknown>) =>
    all({ job_id: isText, finished_at: absent, attempt: absent })(body) &&
    (isWord('success')(body.get('type')) || isFailure(body));

  it.each<[string, Buffer, Judge, number[]]>([
    ['/job', vector('POST /job all'), isJob, [201]],
    ['/worker', vector('POST /worker'), isWorker, [201]],
    ['/done', failureReport(), isReport, [404]],
  ])(
    `are refused by POST %s with 400, unless they are still in order (${MUTATIONS} of them)`,
    async (path, whole, isValid, taken) => {
      const bodies = mutationsOf(whole);
      const statuses = await send(path, bodies, { 'worker-id': worker });
      const wrong = bodies.flatMap((body, i) => {
        const message = read(body);
        // A field that came into being by chance may have rules that this test does not know.
        if (
          message &&
          [...message.keys()].some((key) => ['url', 'names', 'attempt', 'finished_at'].includes(key))
        )
          return [];
        const expected = message && isValid(message) ? taken : [400];
        return expected.includes(statuses[i] ?? 0) ? [] : [`${statuses[i]} for ${body.toString('hex')}`];
      });
      expect(wrong).toEqual([]);
      expect(new Set(statuses).size).toBeGreaterThan(1);
    },
  );

  it(`are taken or refused by POST /done as a batch, each of its reports by itself (${MUTATIONS} of them)`, async () => {
    const reports = [decode(failureReport()), { job_id: NO_JOB, type: 'success', result: [1] }];
    const statuses = await send('/done', mutationsOf(Buffer.from(encode(reports))), { 'worker-id': worker });
    // 404 is what is left when chance makes one report of it.
    expect([...new Set(statuses)].filter((status) => ![200, 400, 404].includes(status))).toEqual([]);
    expect(statuses).toContain(200);
    expect(statuses).toContain(400);
  });

  it('are refused or answered report by report as JSON', async () => {
    const whole = JSON.stringify([{ job_id: NO_JOB, type: 'success', result: [1] }, { job_id: NO_JOB }]);
    const bodies = mutationsOf(Buffer.from(whole)).slice(0, 1000);
    const headers = { 'worker-id': worker, 'content-type': 'application/json' };
    const statuses = await send('/done', bodies, headers);
    expect([...new Set(statuses)].filter((status) => ![200, 400, 404].includes(status))).toEqual([]);
    expect(bodies.filter((body, i) => !isJson(body) && statuses[i] !== 400).map(String)).toEqual([]);
  });

  it(`are taken or refused by POST /constraints, and nothing else (${MUTATIONS} of them)`, async () => {
    const whole = {
      match: [
        { field: 'argument.to', in: ['a', 1, null] },
        { field: 'name', glob: 'm*' },
      ],
      per: 'argument.to',
      rate: { count: 5, period: 60 },
      concurrency: 2,
    };
    const statuses = await send('/constraints', mutationsOf(Buffer.from(encode(whole))));
    expect([...new Set(statuses)].sort()).toEqual([201, 400]);
  });

  it('are refused as JSON, too, unless they are still JSON', async () => {
    const bodies = mutationsOf(
      Buffer.from(JSON.stringify({ name: 'mail', argument: { to: ['a@b'] }, timeout: 30 })),
    ).slice(0, 1000);
    const statuses = await send('/job', bodies, { 'content-type': 'application/json' });
    expect([...new Set(statuses)].sort()).toEqual([201, 400]);
    const refused = bodies.filter((body, i) => !isJson(body) && statuses[i] !== 400);
    expect(refused.map(String)).toEqual([]);
  });

  it('leave a master that lives and works', async () => {
    await expect(master.call('GET', '/health/ready')).resolves.toMatchObject({ status: 200 });
    await master.redis.redis.flushall();
    const id = await master.enqueue();
    await expect(master.pull(await master.register())).resolves.toMatchObject({ body: { id } });
  });
});

function absent(value: unknown): boolean {
  return value === undefined;
}

function isMap(value: unknown): boolean {
  return (
    value instanceof Map || (typeof value === 'object' && value !== null && value.constructor === Object)
  );
}

function failureReport(): Buffer {
  const report = {
    job_id: NO_JOB,
    type: 'failure',
    reason: 'other',
    should_retry: true,
    message: 'boom',
    error: [1],
  };
  return Buffer.from(encode(report));
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return isUtf8(body);
  } catch {
    return false;
  }
}

/** The fields of a body that another codec can read as one map. */
function read(body: Buffer): Map<string, unknown> | undefined {
  try {
    const keys: unknown[] = [];
    const mapKeyConverter = (key: unknown) => String(keys.push(key));
    const value = decode(body, { extensionCodec, useBigInt64: true, rawStrings: true, mapKeyConverter });
    if (!isMap(value)) return undefined;
    return new Map(
      Object.entries(value as Record<string, unknown>).flatMap(([index, entry]) => {
        const key = keys[Number(index) - 1];
        return typeof key === 'string' ? [[key, entry] as const] : [];
      }),
    );
  } catch {
    return undefined;
  }
}

/** Bytes flipped, put in, taken out, cut off, doubled: one to three changes a body. */
function mutationsOf(whole: Buffer): Buffer[] {
  const random = new Random(SEED);
  return Array.from({ length: MUTATIONS }, () => {
    let bytes: Buffer = Buffer.from(whole);
    for (let changes = random.int(1, 3); changes > 0; changes--) bytes = mutated(bytes, random);
    return bytes;
  });
}

function mutated(bytes: Buffer, random: Random): Buffer {
  const at = random.int(0, Math.max(0, bytes.length - 1));
  const byte = Buffer.of(random.int(0, 255));
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + 1)];
  const ways: (() => Buffer)[] = [
    () => Buffer.concat([before, byte, after]),
    () => Buffer.concat([before, Buffer.of((bytes[at] ?? 0) ^ (1 << random.int(0, 7))), after]),
    () => Buffer.concat([before, byte, bytes.subarray(at)]),
    () => Buffer.concat([before, after]),
    () => before,
    () => Buffer.concat([bytes, bytes.subarray(at)]),
    () => Buffer.concat([before, bytes.subarray(random.int(0, bytes.length))]),
  ];
  return random.pick(ways)();
}
