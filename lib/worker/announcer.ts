import { withDeadline } from '../job/deadline.js';
import type { Codec } from '../job/codec.js';
import { messageOf } from '../job/errors.js';
import type { JobSource, OnRevoked } from '../job/job-source.js';
import type { HandlerBinding } from './job-handler.js';
import { giveKeep, giveLimits } from './source-limits.js';
import type { WorkerLog } from './worker-log.js';

/** During an outage, a function that is being announced waits for the server, and what comes after it too. */
const SIGN_OFF_MS = 3000;

/** Announces a worker's functions to its source, one call after the other: a source that closes waits for the last. */
export class Announcer {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly source: Pick<
      JobSource,
      'open' | 'withdraw' | 'setLimit' | 'setKeep' | 'capabilities' | 'address'
    >,
    private readonly log: WorkerLog,
    /** The codec of functions whose definition names none. */
    private readonly codec: Codec,
    private readonly onRevoked: OnRevoked,
  ) {}

  /** @throws ConfigurationError for a limit without a source that applies it · what the source says of a server that doesn't take them */
  open(bindings: readonly HandlerBinding[]): Promise<void> {
    const opening = this.last.then(() => {
      giveLimits(this.source, bindings, this.codec);
      giveKeep(this.source, bindings);
      return this.source.open(
        bindings.map(({ definition }) => definition.name),
        this.onRevoked,
      );
    });
    this.last = opening.catch(() => undefined);
    return opening;
  }

  /** If it fails, the function only stays announced until the worker's end: its handler has stopped anyway. */
  async withdraw(fn: string): Promise<void> {
    const withdrawn = this.last.then(() => this.source.withdraw?.([fn]));
    this.last = withdrawn.catch(() => undefined);
    try {
      await withDeadline(withdrawn, SIGN_OFF_MS, () => new Error(`not within ${SIGN_OFF_MS} ms`));
    } catch (error) {
      this.log.warn(`Signing off from ${fn} failed: ${messageOf(error)}`);
    }
  }
}
