import { bytesOf, codecOf, type Payload } from '../../lib/job/codec.js';
import type { Claim } from '../../lib/job/job-source.js';
import { signalField } from '../../lib/job/signals.js';
import type { StepRecords } from '../../lib/job/steps.js';
import type { StreamKind, StreamRecords } from '../../lib/job/streams.js';

/** The claim of the nth run of a job. */
export function claimOf(run: number): Claim {
  const token = 7_000_000 + run;
  return { fn: 'fn', id: '1', token, input: new Uint8Array(), attempts: run, stalls: 0, options: {} };
}

/** What one job records, as a server keeps it. */
export class KeptRecords implements StepRecords, StreamRecords {
  readonly codec = codecOf('json');
  readonly fields = new Map<string, Uint8Array>();
  /** The names of the fields of each write. */
  readonly writes: string[][] = [];
  readonly streamed: { kind: StreamKind; sent: number; entries: number }[] = [];
  /** Whether another worker has the job. */
  isLost = false;
  /** Called before fields are written. */
  writing: () => Promise<void> = async () => undefined;
  /** Called before entries are added. */
  appending: () => Promise<void> = async () => undefined;
  /** That of the server. */
  time = (): number => Date.now();

  async now(): Promise<number> {
    return this.time();
  }

  async read(_: unknown, names: readonly string[]): Promise<Map<string, Uint8Array>> {
    return new Map(
      names.flatMap((name) => {
        const value = this.fields.get(name);
        return value ? [[name, value] as const] : [];
      }),
    );
  }

  async write(
    _: unknown,
    fields: ReadonlyMap<string, Payload>,
    removed: readonly string[],
  ): Promise<boolean> {
    await this.writing();
    if (this.isLost) return false;
    this.writes.push([...fields.keys()]);
    for (const name of removed) this.fields.delete(name);
    for (const [name, value] of fields) this.fields.set(name, bytesOf(value));
    return true;
  }

  async append(_: unknown, kind: StreamKind, sent: number, entries: readonly Uint8Array[]): Promise<boolean> {
    await this.appending();
    if (!this.isLost) this.streamed.push({ kind, sent, entries: entries.length });
    return !this.isLost;
  }

  signal(name: string, data: unknown, time = 0): void {
    this.fields.set(signalField(name), Buffer.from(`${time}:${JSON.stringify(data)}`));
  }
}
