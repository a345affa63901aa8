import { randomUUID } from 'node:crypto';
import type { Payload } from '../../../job/codec.js';
import { InvalidOptionError, JobLostError, JobNotFoundError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { isSignalName, type Signalled } from '../../../job/signals.js';
import { MAX_STEP_NAME } from '../../../job/steps.js';
import { scriptsIn } from '../../../redis/script.js';
import { isJobId } from '../../core/client/job-access.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type { ClientCore, Feature } from '../../core/feature.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { JobKey } from '../../core/wire/protocol.js';
import type { Bytes, Now } from '../../core/wire/scripts.js';

/** Gives signals to jobs. */
export interface SignalStore {
  /** Whether the job waits for it or not. */
  give(fn: string, job: JobKey, name: string, data: Payload): Promise<Signalled>;
}

/** A store whose jobs can be signalled. */
export interface SignalsStore extends JobStore {
  readonly signals: SignalStore;
}

/** What became of the signal. `mark` is '' for any job with this id; by `token` a call is recognized that is sent again. */
export const signal = scriptsIn(LUA)<
  [now: Now, id: string, mark: number | '', name: string, data: Bytes, token: string],
  Signalled
>('signal', (reply) => String(reply) as Signalled);

class RedisSignals implements SignalStore {
  constructor(private readonly server: StoreServer) {}

  give(fn: string, { id, mark }: JobKey, name: string, data: Payload): Promise<Signalled> {
    const { jobs, scheduled, wake } = this.server.keysOf(fn);
    const token = randomUUID();
    return this.server.questions.ask(fn, 'Signalling a job', (redis) =>
      signal.run(redis, [jobs, scheduled, wake], this.server.now(), id, mark ?? '', name, data, token),
    );
  }
}

/** A key with a mark never concerns another job that got the same id. */
async function giveSignal(
  { functions, store }: ClientCore<SignalsStore>,
  ref: FunctionRef,
  key: JobKey,
  name: string,
  data: unknown,
): Promise<boolean> {
  const fn = functions.nameOf(ref);
  if (!isSignalName(name))
    throw new InvalidOptionError('name', name, `text of 1 to ${MAX_STEP_NAME} characters without a colon`);
  const encoded = functions.encodeAs('signal', ref, data);
  const came = isJobId(key.id) ? await store.signals.give(fn, key, name, encoded) : 'missing';
  if (came === 'missing') throw new JobNotFoundError(fn, key.id);
  if (came === 'lost') throw new JobLostError(fn, key.id);
  return came === 'signalled';
}

/** The method of a `GearMonkeyClient` that signals jobs. */
export class SignalsClient {
  readonly #core: ClientCore<SignalsStore>;

  /** @internal */
  constructor(core: ClientCore<SignalsStore>) {
    this.#core = core;
  }

  /**
   * Gives a job a signal, which `job.waitFor` of its handler returns. It may come before the job waits for it. The first
   * signal of a name counts.
   *
   * @param data of the form that the function's codec gives it. @default null
   * @returns whether the job has it now: false if it had one of this name before, or has finished
   * @throws InvalidOptionError for a name with a colon, or of other than 1 to 100 characters · NotSerializableError ·
   * PayloadTooLargeError · JobNotFoundError
   */
  async signal(ref: FunctionRef, id: string | number, name: string, data: unknown = null): Promise<boolean> {
    return giveSignal(this.#core, ref, { id: String(id) }, name, data);
  }
}

/** Signals that jobs wait for. */
export const signals: Feature<SignalsStore> = {
  name: 'signals',
  store: (server) => new RedisSignals(server),
  client: SignalsClient,
  handle: (core) => ({ signal: (ref, key, name, data) => giveSignal(core, ref, key, name, data) }),
};
