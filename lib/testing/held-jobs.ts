import type { Claim } from '../job/job-source.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { keyOf } from './job-records.js';

/** A job and its function. */
export interface JobName {
  readonly fn: string;
  readonly id: string;
}

/** A job that is being claimed, has been, or whose handler has begun. */
interface Held {
  claim?: Claim;
  begun?: boolean;
}

/** The jobs that a source has given to its worker, or is about to. */
export class HeldJobs {
  private readonly held = new Map<string, Held>();
  /** Those whose handler was told that they are not its any more, before the server is. */
  private readonly ending = new Set<string>();

  /** Claims a job: it is held from the moment it is asked for. */
  async take(fn: string, id: string, claim: () => Promise<Claim | undefined>): Promise<Claim | undefined> {
    const held: Held = {};
    this.held.set(keyOf(fn, id), held);
    const taken = await claim();
    if (taken) held.claim = taken;
    else this.held.delete(keyOf(fn, id));
    return taken;
  }

  /** Its handler begins now. */
  begin({ fn, id }: JobName): void {
    const held = this.held.get(keyOf(fn, id));
    if (held) held.begun = true;
  }

  /** Whether this claim is still the worker's. */
  has(claim: Claim): boolean {
    return this.claimOf(claim) === claim;
  }

  claimOf({ fn, id }: JobName): Claim | undefined {
    return this.held.get(keyOf(fn, id))?.claim;
  }

  /** The claim, if its handler runs. A worker that does not know of it yet would not be told that it is gone. */
  running({ fn, id }: JobName): Claim | undefined {
    const { claim, begun } = this.held.get(keyOf(fn, id)) ?? {};
    return begun ? claim : undefined;
  }

  drop(claim: Claim): void {
    if (this.has(claim)) this.held.delete(keyOf(claim.fn, claim.id));
  }

  /** Counts as held until the server knows that it is not. */
  async whileEnding({ fn, id }: JobName, tellServer: Promise<unknown>): Promise<void> {
    const key = keyOf(fn, id);
    this.ending.add(key);
    try {
      await tellServer;
    } finally {
      this.ending.delete(key);
    }
  }

  all(): JobName[] {
    return [...this.held.keys(), ...this.ending].map((key) => {
      const [fn = '', id = ''] = key.split(' ');
      return { fn, id };
    });
  }
}

/** For messages. */
export function nameOf(instance: string, { fn, id }: JobName): string {
  return instance === DEFAULT_INSTANCE ? `${fn} ${id}` : `${fn} ${id} of "${instance}"`;
}
