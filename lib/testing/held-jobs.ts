import type { Claim } from '../job/job-source.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { keyOf, type JobName } from './job-records.js';

/** The state of a held job: being claimed, claimed, or running. */
interface Held {
  claim?: Claim;
  begun?: boolean;
}

/** The jobs that a source has given to its worker, or is about to give. */
export class HeldJobs {
  private readonly held = new Map<string, Held>();
  /** Jobs whose handler knows that the claim has ended, before the server does. */
  private readonly ending = new Set<string>();

  /** Claims a job. It counts as held as soon as the claim is sent. */
  async take(fn: string, id: string, claim: () => Promise<Claim | undefined>): Promise<Claim | undefined> {
    const held: Held = {};
    this.held.set(keyOf(fn, id), held);
    const taken = await claim();
    if (taken) held.claim = taken;
    else this.held.delete(keyOf(fn, id));
    return taken;
  }

  /** Called when the handler of the job begins. */
  begin({ fn, id }: JobName): void {
    const held = this.held.get(keyOf(fn, id));
    if (held) held.begun = true;
  }

  /** Whether the worker still holds this claim. */
  has(claim: Claim): boolean {
    return this.claimOf(claim) === claim;
  }

  claimOf({ fn, id }: JobName): Claim | undefined {
    return this.held.get(keyOf(fn, id))?.claim;
  }

  /** The claim of a job whose handler runs. Before that, the worker could not be told that the claim has ended. */
  running({ fn, id }: JobName): Claim | undefined {
    const { claim, begun } = this.held.get(keyOf(fn, id)) ?? {};
    return begun ? claim : undefined;
  }

  drop(claim: Claim): void {
    if (this.has(claim)) this.held.delete(keyOf(claim.fn, claim.id));
  }

  /** The job counts as held until the server has ended the claim. */
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

/** The job's name in messages. */
export function nameOf(instance: string, { fn, id }: JobName): string {
  return instance === DEFAULT_INSTANCE ? `${fn} ${id}` : `${fn} ${id} of "${instance}"`;
}
