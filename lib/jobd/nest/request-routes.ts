import { ConfigurationError } from '../../job/errors.js';
import type { JobdDaemon } from '../daemon/jobd-daemon.js';
import type { ManualResults } from '../vocabulary/operations.js';
import type { JobdMaster } from '../master/jobd-master.js';
import type { JobAddress } from '../master/manual-jobs.js';
import { connect } from '../protocol/connect.js';
import type { ManualReply } from '../protocol/job-results.js';
import { SILENT } from '../vocabulary/logging.js';
import { Heartbeat } from '../protocol/heartbeat.js';
import type { ServerAddress } from './jobd.options.js';

const PING_MS = 30_000;

/** Where a client's requests go. */
export interface RequestRoute {
  /** @throws RequestError, PeerLostError */
  poke(targets: readonly string[]): Promise<void>;
  /** @throws RequestError, PeerLostError, DatabaseError */
  runManual(jobs: readonly JobAddress[]): Promise<ManualResults>;
}

/** Sends requests to a worker or master of another process, each over a new connection. */
export function remoteRoute(
  { kind, host = '127.0.0.1', port, password, tls }: ServerAddress,
  pingInterval = PING_MS,
): RequestRoute {
  const ask = async (type: string, data: object): Promise<unknown> => {
    const connection = await connect({ host, port, password, tls, log: SILENT });
    // Without this, a server that disappeared without closing would be awaited forever.
    new Heartbeat(connection, pingInterval);
    try {
      return await connection.request(type, data);
    } finally {
      connection.end();
    }
  };
  return {
    poke: async (targets) => void (await ask(kind === 'master' ? 'poke' : 'poll', { targets })),
    runManual: async (jobs) =>
      toResults(await ask('run-manual', kind === 'master' ? { jobs } : { ids: jobs.map(({ id }) => id) })),
  };
}

/** A master of this process. */
export function masterRoute(master: JobdMaster): RequestRoute {
  return {
    poke: async (targets) => master.poke(targets),
    runManual: async (jobs) => toResults(await master.runManual(jobs)),
  };
}

/** A daemon of this process. It polls at every poke anyway. */
export function daemonRoute(daemon: JobdDaemon): RequestRoute {
  return {
    poke: async () => undefined,
    runManual: (jobs) => daemon.runManual(jobs.map(({ id }) => id)),
  };
}

/** No server: daemons and handlers of this process still get pokes. */
export const NO_ROUTE: RequestRoute = {
  poke: async () => undefined,
  runManual: async () => {
    throw new ConfigurationError(
      'JobdModule has no server for manual jobs. Set `server`, the address of a worker or master, or a `worker` of its own.',
    );
  },
};

function toResults(reply: unknown): ManualResults {
  const { jobs = {}, errors = {} } = (reply ?? {}) as ManualReply;
  return { jobs: byId(jobs), errors: byId(errors) };
}

function byId<T>(members: Readonly<Record<string, T>>): Map<number, T> {
  return new Map(Object.entries(members).map(([id, member]) => [Number(id), member]));
}
