import { documentedRights, PASSWORD } from '../security/rights.js';
import { Authority, type Identity } from '../support/authority.js';
import type { RedisServer } from '../support/redis-server.js';
import { SlowLine, type LineQuality } from '../support/slow-line.js';
import { HANDLED } from './jobs.mjs';
import type { Role } from './processes.js';

/** How a process reaches its server, besides that the line may break. */
interface Way {
  readonly tls?: boolean;
  /** Whether it has a user with the smallest rights for what it does. */
  readonly restricted?: boolean;
  readonly quality?: LineQuality;
}

/** A line of 10 Mbit/s, 30 ms long. */
const FAR: LineQuality = { bandwidth: 10, latency: 30 };

/** No two are alike: what works on the plain way is not to fail on another. */
const WAYS: Readonly<Record<Role, readonly Way[]>> = {
  worker: [{}, { tls: true, restricted: true }, { quality: FAR }],
  producer: [{ restricted: true }, { tls: true, quality: FAR }],
};

/** Which lists of docs/operate/security.md a role has. */
const RIGHTS: Readonly<Record<Role, readonly string[]>> = {
  worker: ['limited-worker', 'flow-worker'],
  producer: ['limited-client', 'tagged-client', 'flow-client'],
};

/** Lists of the document are for a function `mail`: all of the suite's, in its place. */
function rightsFor(lists: readonly string[]): string[] {
  const rights = lists.flatMap((list) => documentedRights().get(list) ?? []);
  const all = rights.flatMap((right) =>
    right.includes('mail') ? Object.keys(HANDLED).map((fn) => right.replaceAll('mail', fn)) : [right],
  );
  return [...new Set(all)];
}

/** What a member is told of its server: options of ioredis. */
export type ConnectionSettings = Readonly<Record<string, unknown>>;

/** The certificates and users that the ways need. */
export class Ways {
  private constructor(
    private readonly authority: Authority,
    private readonly identity: Identity,
  ) {}

  static async open(): Promise<Ways> {
    const authority = await Authority.create();
    return new Ways(authority, await authority.issue());
  }

  /** What the server is to be started with. Users that are made later would go with the process. */
  get server() {
    const users = Object.entries(RIGHTS).flatMap(([role, lists]) => [
      ...['--user', role, 'on', `>${PASSWORD}`],
      ...rightsFor(lists),
    ]);
    return { args: users, tls: { authority: this.authority, files: this.identity.files } };
  }

  /** The line of one member, and how to connect over it. */
  async lineOf(
    role: Role,
    index: number,
    server: RedisServer,
  ): Promise<{ line: SlowLine; connection: ConnectionSettings }> {
    const { tls = false, restricted = false, quality } = WAYS[role][index % WAYS[role].length] ?? {};
    const line = await SlowLine.start(tls ? server.tlsPort : server.port, quality);
    const connection = {
      host: '127.0.0.1',
      port: line.port,
      ...(restricted ? { username: role, password: PASSWORD } : {}),
      ...(tls ? { tls: { ca: this.authority.ca } } : {}),
    };
    return { line, connection };
  }

  close(): Promise<void> {
    return this.authority.remove();
  }
}
