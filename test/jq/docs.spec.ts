import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { defineJob } from '../../lib/job/job-definition.js';
import { JqClient } from '../../lib/jq/client/jq-client.js';
import { messagePack } from '../../lib/jq/message-pack/codec.js';
import { jq } from '../../lib/jq/worker/jq-source.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { killProcesses, TestProcess } from '../support/test-process.js';
import { eventually } from '../support/until.js';
import { useMaster } from './master/use-master.js';

const PAGE = ['jq.md', 'jq-reference.md']
  .map((name) => readFileSync(new URL(`../../docs/systems/${name}`, import.meta.url), 'utf8'))
  .join('\n');
const MASTER = '127.0.0.1:8080';
const MAX_CLIENT_LINES = 30;

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code = '']) => code,
  );
}

function blockWith(language: string, content: string): string {
  const block = blocks(language).find((code) => code.includes(content));
  if (block === undefined)
    throw new Error(`docs/systems/jq*.md have no block of ${language} with ${content}.`);
  return block;
}

describe('docs/systems/jq.md and jq-reference.md', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  afterEach(killProcesses);

  /** Here, the master is at another address than in the document. */
  function start(command: string, args: readonly string[], program: string): TestProcess {
    const child = new TestProcess(command, args);
    child.input(program.replaceAll(MASTER, master.url.slice('http://'.length)));
    return child;
  }

  async function printed(...program: Parameters<typeof start>): Promise<string> {
    const { stdout, stderr } = await start(...program).ended();
    return stdout + stderr;
  }

  it('has a pusher in Python, short as it is, whose job our worker runs', async () => {
    const pusher = blockWith('python', 'def enqueue');
    expect(pusher.trimEnd().split('\n').filter(Boolean).length).toBeLessThanOrEqual(MAX_CLIENT_LINES);
    const job = defineJob<{ to: string }, string>('mail', { codec: messagePack });
    await runWorker(jq({ master: master.url, listen: { port: 0 } }), job, (input) => {
      return `sent to ${(input as { to: string }).to}`;
    });
    await expect(printed('/usr/bin/python3', ['-'], pusher)).resolves.toBe('sent to ada@example.com\n');
  });

  it('has a worker in Python that runs the jobs of our client', async () => {
    start('/usr/bin/python3', ['-'], blockWith('python', '/worker/pull'));
    const client = new JqClient({ master: master.url });
    await expect(client.call('shout', { text: 'hi' })).resolves.toBe('HI');
    await expect(client.call('shout', {}, { maxRetry: 0 })).rejects.toMatchObject({
      reason: "KeyError('text')",
    });
    await client.close();
  });

  it('has a batch of reports, and what a master makes of it', async () => {
    const [head = '', sent = '', replied = '', verdicts = ''] = blockWith('http', 'POST /done')
      .trimEnd()
      .split('\n\n');
    const worker = await master.register({ max_jobs: 2, batch: 2 });
    const reports = JSON.parse(sent) as { job_id: string }[];
    for (const report of reports) {
      await master.enqueue();
      report.job_id = ((await master.pull(worker)).body as { id: string }).id;
    }
    const [request, ...lines] = head.split('\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
    const [method = '', path = ''] = (request ?? '').split(' ');
    const body = JSON.stringify(reports);
    const reply = await master.call(method, path, { body, headers: { ...headers, 'worker-id': worker } });
    expect(replied).toContain(` ${reply.status} OK\nContent-Type: ${reply.headers.get('content-type')}`);
    expect(JSON.parse(reply.bytes.toString())).toEqual(JSON.parse(verdicts));
  });

  it('has constraints that a master takes, and a command that makes one', async () => {
    const constraints = blocks('json');
    expect(constraints).toHaveLength(3);
    const headers = { 'content-type': 'application/json' };
    for (const body of constraints) {
      await expect(master.call('POST', '/constraints', { body, headers })).resolves.toMatchObject({
        status: 201,
      });
    }
    const command = blockWith('sh', 'curl -X POST');
    await expect(printed('sh', ['-eu', '-'], command.replace('curl', 'curl -s'))).resolves.toContain(
      '"concurrency":3',
    );
    await eventually(async () => expect(await master.redis.redis.hlen('{jq}:constraints')).toBe(4));
  });
});
