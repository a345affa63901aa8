import type { LimitedClaim } from './history.js';
import { LIMITS } from './jobs.mjs';

interface OpenClaim extends LimitedClaim {
  until: number;
}

interface WrittenJob {
  key?: string;
  started?: number;
}

/** Reads the claims of jobs with keys from a server's log of writes. Instants are numbers of commands: the server's own order. */
export class ClaimLog {
  readonly claims: OpenClaim[] = [];
  /** When a job got its outcome, by `fn#id`. */
  readonly ended = new Map<string, number>();
  private readonly jobs = new Map<string, WrittenJob>();
  private readonly byMember = new Map<string, OpenClaim>();
  private instant = 0;

  /** @param nameOf the name of a function by its name in keys */
  constructor(private readonly nameOf = (wire: string) => wire) {}

  read([verb = '', key = '', ...words]: readonly string[]): void {
    this.instant += 1;
    const [, kind, wire = '', id = ''] = /^(?:(job):(.*):(\d+)|lease:.*)$/s.exec(key) ?? [];
    const fn = this.nameOf(kind ? wire : key.slice('lease:'.length));
    if (LIMITS[fn] === undefined) return;
    if (kind) this.write(fn, id, verb, words);
    else if (key.startsWith('lease:')) this.lease(fn, verb, words);
  }

  private write(fn: string, id: string, verb: string, words: readonly string[]): void {
    if (!/^hm?set$/i.test(verb)) return;
    const name = `${fn}#${id}`;
    const job = this.jobs.get(name) ?? {};
    this.jobs.set(name, job);
    for (let i = 0; i + 1 < words.length; i += 2) {
      const [field, value = ''] = [words[i], words[i + 1]];
      if (field === 'key') job.key = value;
      if (field === 'started') job.started = Number(value);
      if (field === 'status' && (value === 'success' || value === 'error'))
        this.ended.set(name, this.instant);
    }
  }

  private lease(fn: string, verb: string, words: readonly string[]): void {
    if (/^zadd$/i.test(verb)) {
      for (const member of words.slice(1)) if (member.includes(':')) this.claim(fn, member);
    } else if (/^zrem$/i.test(verb)) {
      for (const member of words) this.release(fn, member);
    } else if (/^(del|unlink)$/i.test(verb)) {
      for (const claim of this.claims) if (claim.fn === fn) this.release(fn, `${claim.id}:${claim.token}`);
    }
  }

  private claim(fn: string, member: string): void {
    const known = this.byMember.get(`${fn}#${member}`);
    // A renewal removes the lease and adds it again.
    if (known) known.until = Infinity;
    else this.begin(fn, member);
  }

  private begin(fn: string, member: string): void {
    const [id = '', token = ''] = member.split(':');
    const job = this.jobs.get(`${fn}#${id}`);
    // Without a key it is only claimed to get one.
    if (job?.key === undefined) return;
    const { key, started = 0 } = job;
    const claim = { fn, id, token: Number(token), key, started, from: this.instant, until: Infinity };
    this.claims.push(claim);
    this.byMember.set(`${fn}#${member}`, claim);
  }

  private release(fn: string, member: string): void {
    const claim = this.byMember.get(`${fn}#${member}`);
    if (claim) claim.until = Math.min(claim.until, this.instant);
  }
}
