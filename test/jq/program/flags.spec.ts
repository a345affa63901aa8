import { describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { Agent, request } from 'undici';
import { until } from '../../support/until.js';
import { furtherInFullTier } from '../../support/tier.js';
import { useRedis } from '../../support/use-redis.js';
import { optionsFromFlags } from '../../../lib/cli/jq-master.flags.js';
import type { EngineOptions } from '../../../lib/jq/index.js';
import { verify, type SignatureHeaders } from '../../../lib/jq/wire/signature.js';
import { useTls } from '../../support/tls.js';
import { plainWorker, stopPlainWorkersAfterEach } from '../master/plain-worker.js';
import { killProcessesAfterEach, masterProcess, urlOf } from './processes.js';

const SECRET = 'a secret of enough bytes';

describe('the flags of jq-master', () => {
  const settings = {
    backoff: '2s',
    backoffCap: '3m',
    grace: '4s',
    pushTimeout: '6s',
    suspect: '7s',
    suspectCap: '8s',
    silence: '9s',
    forgetWorker: '10h',
    forgetMissingName: '11s',
    unreadResult: '12h',
    readResult: '13s',
    tombstone: '14h',
    forgetKey: '15h',
    maxPushes: 16,
    lostAfter: 17,
    maxLosses: 18,
    maxQueued: 19,
    maxQueuedBytes: 22,
    maxKeys: 23,
    maxWorkersPerClient: 24,
    maxJobsPerClient: 25,
    maxWorkers: 20,
    maxConstraints: 21,
  } satisfies Required<EngineOptions>;
  const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

  it('say what masters on one Redis agree on', () => {
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${dashed(name)}`, String(value)]);
    expect(optionsFromFlags(flags)).toMatchObject(settings);
  });

  it('may be environment variables', () => {
    const names = Object.entries(settings).map(
      ([name, value]) => [`JQ_${dashed(name).toUpperCase().replaceAll('-', '_')}`, String(value)] as const,
    );
    for (const [name, value] of names) process.env[name] = value;
    try {
      expect(optionsFromFlags([])).toMatchObject(settings);
    } finally {
      for (const [name] of names) delete process.env[name];
    }
    expect(optionsFromFlags([])).not.toHaveProperty('backoff');
  });
});

describe('jq-master with all of its flags', () => {
  const used = useRedis();
  killProcessesAfterEach();
  stopPlainWorkersAfterEach();
  const pem = useTls();

  it.each(furtherInFullTier(['flags'], ['the environment']))('does what they say, by %s', async (way) => {
    const settings = {
      redis: used.url,
      prefix: `{${way.slice(-4)}}:`,
      port: '0',
      'pusher-token': 'p',
      'worker-token': 'w, v',
      'admin-token': 'a',
      'metrics-token': 'm',
      'tls-cert': pem.files.cert,
      'tls-key': pem.files.key,
      'callback-secret': SECRET,
      'callback-allow': '127.0.0.1, *.example.com',
      'max-body-bytes': '1000',
      'max-depth': '3',
      'max-queued': '1',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    const environment = Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [
        `JQ_${name.toUpperCase().replaceAll('-', '_')}`,
        value,
      ]),
    );
    const master =
      way === 'flags'
        ? masterProcess([...flags, '--no-docs', '--no-metrics'])
        : masterProcess([], { ...environment, JQ_DOCS: 'off', JQ_METRICS: 'off' });
    const url = await urlOf(master);
    expect(url).toMatch(/^https:/);

    const dispatcher = new Agent({ connect: { ca: pem.ca } });
    const call = async (method: 'GET' | 'POST', path: string, token: string, body?: object) => {
      const sent = body ? { body: Buffer.from(encode(body)) } : {};
      const headers = { authorization: `Bearer ${token}` };
      const reply = await request(url + path, { method, headers, dispatcher, ...sent });
      const bytes = await reply.body.bytes();
      return {
        status: reply.statusCode,
        body: bytes.length > 0 ? (decode(bytes) as Record<string, string>) : {},
      };
    };
    const job = { name: 'mail', argument: {} };
    const statusOf = async (...args: Parameters<typeof call>) => (await call(...args)).status;

    await expect(statusOf('GET', '/docs', 'a')).resolves.toBe(404);
    await expect(statusOf('GET', '/metrics', 'm')).resolves.toBe(404);
    await expect(statusOf('POST', '/job', 'x', job)).resolves.toBe(401);
    await expect(statusOf('POST', '/job', 'v', job)).resolves.toBe(403);
    await expect(statusOf('POST', '/job', 'p', { ...job, argument: { a: [[[1]]] } })).resolves.toBe(400);
    await expect(statusOf('POST', '/job', 'p', { ...job, name: 'n'.repeat(1000) })).resolves.toBe(413);
    await expect(statusOf('POST', '/job', 'p', job)).resolves.toBe(201);
    await expect(statusOf('POST', '/job', 'p', job)).resolves.toBe(429);
    const register = { name: 'w', max_jobs: 1 };
    await expect(statusOf('POST', '/worker', 'w', { ...register, url: 'http://10.0.0.1' })).resolves.toBe(
      403,
    );
    const worker = await plainWorker();
    await expect(statusOf('POST', '/worker', 'v', { ...register, url: worker.url })).resolves.toBe(201);
    const { bytes, headers } = await until(() => worker.pushes[0]);
    const options = { url: worker.url, secrets: [SECRET], window: 60_000 };
    expect(verify(bytes, headers as SignatureHeaders, options)).toBe(true);
    await expect(statusOf('GET', '/api/counts', 'a')).resolves.toBe(200);
    await dispatcher.destroy();
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });
});
