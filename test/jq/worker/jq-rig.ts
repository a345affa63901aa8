import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import type { ListenOptions } from '../../../lib/jq/worker/source-options.js';
import type { SourceRig, StoredState } from '../../contract/rig.js';
import { shareRedis } from '../../support/shared-redis.js';
import { until } from '../../support/until.js';
import { Http } from '../master/http.js';
import { EnvelopedSource } from './enveloped-source.js';

/**
 * What JQ has no word for: how many workers there are, jobs for later, progress, how a job is run. Retries are
 * timed by the master, and its silent workers are lost in a time of its own.
 */
const PRIORITIES = { high: -1, normal: 0, low: 1, scheduled: -2 };
const STATES: Readonly<Record<string, string>> = {
  queued: 'idle',
  retrying: 'idle',
  running: 'busy',
  done: 'success',
  error: 'error',
};

/** A master of the contract, on Redis. */
export async function jqRig(listen?: ListenOptions): Promise<SourceRig> {
  const { url, redis, release } = await shareRedis();
  const master = await listenMaster({ connection: url, port: 0, backoff: 10 });
  const http = new Http(master.url);
  /** A job that a worker has taken waits for the master until that has heard of it. */
  const isPushing = async (id: string) => (await redis.hget(`{jq}:job:${id}`, 'state')) === 'pushing';
  let names = 0;
  return {
    fn: () => `fn-${++names}`,
    source: () => new EnvelopedSource(jq({ master: master.url, ...(listen ? { listen } : {}) })),
    submit: async (name, input, { queue } = { queue: 'normal' }) => {
      const argument = { input: Buffer.from(input) };
      return http.enqueue({ name, argument, priority: PRIORITIES[queue], keep_result: true });
    },
    stored: async (_, id) => {
      await until(async () => !(await isPushing(id)));
      return stateOf((await http.job(id)).body as Record<string, unknown>);
    },
    workers: () => Promise.reject(new Error('A master does not count workers by function.')),
    close: async () => {
      await master.close();
      await release();
    },
  };
}

function stateOf({ status, result, message }: Record<string, unknown>): StoredState {
  const state = { status: STATES[String(status)] };
  if (status === 'done') return { ...state, output: String(result) };
  return status === 'error' ? { ...state, output: String(message) } : state;
}
