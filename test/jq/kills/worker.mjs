/**
 * A worker that writes down what it does. worker.mjs MASTERS MAX_JOBS: serves pushes, reports each until it is
 * answered, to whichever master answers; prints a line of JSON for each job it begins and each report that was
 * answered. Plain Node and a codec: it starts quickly, and nothing of it is ours.
 */
import { createServer, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, encode } from '@msgpack/msgpack';

const masters = process.argv[2].split(',');
const maxJobs = Number(process.argv[3]);
const RETRY_MS = 30;
const LONGEST_RUN_MS = 40;
let calls = 0;

function say(event) {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

function once(method, path, value, headers) {
  const url = masters[calls++ % masters.length] + path;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false, timeout: 10_000 }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, bytes: Buffer.concat(chunks) }));
      response.on('error', reject);
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer')));
    sent.end(encode(value));
  });
}

async function call(method, path, value, headers = {}) {
  for (;;) {
    const reply = await once(method, path, value, headers).catch(() => undefined);
    if (reply && reply.status < 500) return reply;
    await sleep(RETRY_MS);
  }
}

let worker;

async function run({ id: job, attempt }) {
  const nonce = `${worker}:${attempt}:${Math.random()}`;
  say({ type: 'begun', job, attempt, worker, nonce });
  await sleep(Math.random() * LONGEST_RUN_MS);
  const report = { job_id: job, attempt, type: 'success', result: nonce };
  const { status } = await call('POST', '/done', report, { 'worker-id': worker });
  say({ type: 'reported', job, attempt, worker, nonce, status });
}

const server = createServer((pushed, response) => {
  const chunks = [];
  pushed.on('data', (chunk) => chunks.push(chunk));
  pushed.on('end', () => {
    const job = decode(Buffer.concat(chunks));
    response.writeHead(worker ? 202 : 503).end();
    if (worker) void run(job);
  });
});
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const reply = await call('POST', '/worker', { name: 'kills', max_jobs: maxJobs, url });
  worker = decode(reply.bytes).worker_id;
  say({ type: 'registered', worker });
});
