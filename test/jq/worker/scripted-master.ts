import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';

export interface Report {
  readonly job_id: string;
  readonly type: string;
  readonly message?: string;
}

/** `report` is as it came: one, or an array. */
type OnDone = (report: Report | Report[], response: ServerResponse) => void;

export interface ScriptedMaster {
  readonly url: string;
  /** The bodies of `POST /worker` and of `POST /done`, as they came. */
  readonly registrations: Record<string, unknown>[];
  readonly reports: (Report | Report[])[];
  /** Of all reports that were taken, by job. */
  readonly taken: Map<string, Report>;
  /** What `POST /worker` is answered with, beside the id. */
  offers: object;
  onDone: OnDone;
  /** How many of the next pings are refused, and how: 503 without a code, 0 for no answer; and how many have come. */
  pings: { refused: number; status: number; code: string; came: number };
  /** How many pulls have come: all are answered at once, with no job. */
  pulls: number;
  /** How the next questions whether a job is still the worker's are answered. */
  confirms: number;
  confirmCode: string | undefined;
  /** The jobs that were asked for. */
  readonly confirmed: string[];
}

const servers = new Set<ReturnType<typeof createServer>>();

/** What a worker asks of a master, from the contract alone: whatever a body holds, it is answered with 204. */
export async function scriptedMaster(offers: object = {}): Promise<ScriptedMaster> {
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const body: unknown = bytes.length > 0 ? decode(bytes) : undefined;
    if (request.url === '/worker' && request.method === 'POST') {
      const id = `worker-${master.registrations.push(body as Record<string, unknown>)}`;
      return response.writeHead(201).end(encode({ worker_id: id, ...master.offers }));
    }
    if (request.url === '/worker/ping') {
      master.pings.came += 1;
      if (master.pings.refused-- <= 0) return response.writeHead(204).end();
      const { status, code } = master.pings;
      if (status === 0) return undefined;
      return response.writeHead(status).end(encode({ code }));
    }
    if (request.url?.startsWith('/worker/pull')) master.pulls += 1;
    if (request.url === '/worker/confirm') {
      master.confirmed.push((body as Report).job_id);
      const { confirms, confirmCode: code } = master;
      return response.writeHead(confirms).end(code && encode({ code }));
    }
    if (request.url !== '/done') return response.writeHead(204).end();
    master.reports.push(body as Report | Report[]);
    return master.onDone(body as Report | Report[], response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.add(server);
  const taken = new Map<string, Report>();
  const master: ScriptedMaster = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    registrations: [],
    reports: [],
    taken,
    offers,
    pings: { refused: 0, status: 503, code: '', came: 0 },
    pulls: 0,
    confirms: 204,
    confirmCode: undefined,
    confirmed: [],
    onDone: (report, response) => {
      for (const each of [report].flat()) taken.set(each.job_id, each);
      response.writeHead(204).end();
    },
  };
  return master;
}

/** Takes batches, and singles: each with the status that `judge` gives, 204 without one. */
export function judged(
  master: ScriptedMaster,
  judge: (report: Report) => object = () => ({ status: 204 }),
): OnDone {
  const verdictOn = (report: Report) => {
    const verdict = judge(report) as { status: number };
    if (verdict.status === 204) master.taken.set(report.job_id, report);
    return verdict;
  };
  return (body, response) => {
    if (Array.isArray(body)) return void response.writeHead(200).end(encode(body.map(verdictOn)));
    const { status, ...error } = verdictOn(body);
    response.writeHead(status).end(status === 204 ? undefined : encode(error));
  };
}

/** For a `describe`: ends them after each test. */
export function stopScriptedMastersAfterEach(): void {
  afterEach(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    servers.clear();
  });
}
