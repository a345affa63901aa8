/**
 * A worker that writes down what it does. worker.mjs MASTERS MAX_JOBS BATCH PORT: serves pushes, reports each until it
 * is answered, to whichever master answers, or what ends meanwhile together with BATCH; prints a line of JSON for each job it begins and each report that was
 * answered. Plain Node and a codec: it starts quickly, and nothing of it is ours.
 */
import { randomBytes } from 'node:crypto';
import { createServer, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, encode } from '@msgpack/msgpack';

const masters = process.argv[2].split(',');
const maxJobs = Number(process.argv[3]);
const batch = Number(process.argv[4]);
const port = Number(process.argv[5]);
/** Distinguishes its pushes from those for a process that had the port before. */
const key = randomBytes(12).toString('hex');
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

async function reportAlone(report) {
  return (await call('POST', '/done', report, { 'worker-id': worker })).status;
}

const waiting = [];
let isSending = false;

async function reportTogether(report) {
  for (;;) {
    const status = await new Promise((resolve) => {
      waiting.push({ report, resolve });
      if (!isSending) void sendReports();
    });
    if (status < 500) return status;
    await sleep(RETRY_MS);
  }
}

async function sendReports() {
  isSending = true;
  while (waiting.length > 0) {
    const sent = waiting.splice(0, batch);
    const reports = sent.map(({ report }) => report);
    const { bytes } = await call('POST', '/done', reports, { 'worker-id': worker });
    decode(bytes).forEach(({ status }, i) => sent[i].resolve(status));
  }
  isSending = false;
}

async function run({ id: job, attempt }) {
  const nonce = `${worker}:${attempt}:${Math.random()}`;
  say({ type: 'begun', at: Date.now(), job, attempt, worker, nonce });
  await sleep(Math.random() * LONGEST_RUN_MS);
  say({ type: 'ran', at: Date.now(), job, attempt, worker, nonce });
  const report = { job_id: job, attempt, type: 'success', result: nonce };
  const status = await (batch > 1 ? reportTogether(report) : reportAlone(report));
  say({ type: 'reported', job, attempt, worker, nonce, status });
}

const server = createServer((pushed, response) => {
  const chunks = [];
  pushed.on('data', (chunk) => chunks.push(chunk));
  pushed.on('end', () => {
    if (!pushed.url.startsWith(`/${key}/`)) return response.writeHead(410).end();
    const body = decode(Buffer.concat(chunks));
    if (!worker) return response.writeHead(503).end();
    if (Array.isArray(body)) response.writeHead(200).end(encode(body.map(() => ({ status: 202 }))));
    else response.writeHead(202).end();
    for (const job of [body].flat()) void run(job);
  });
});
server.listen(port, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/${key}`;
  const says = batch > 1 ? { batch } : {};
  const reply = await call('POST', '/worker', { name: 'kills', max_jobs: maxJobs, url, ...says });
  worker = decode(reply.bytes).worker_id;
  say({ type: 'registered', worker });
});
