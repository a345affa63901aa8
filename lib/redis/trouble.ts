import { Cluster, type Redis, type RedisOptions } from 'ioredis';
import { withoutSecrets } from '../job/secrets.js';
import { isCluster, redisOptions, startupNodes, type ConnectionSpec } from './connect.js';
import { isReply } from './redis-errors.js';

/** Refusals while connecting that would repeat. */
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM|ERR (DB index|invalid DB|invalid password|AUTH|Client sent AUTH))/;
/** Errors of an untrusted certificate, or of a server that doesn't speak TLS. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS|^ERR_SSL|^EPROTO$/;

/** Whether connecting will fail until the app or the server is changed. */
export function isHopeless(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, message = '', code = '' } = error as Partial<NodeJS.ErrnoException>;
  return name === 'ReplyError' ? REFUSED.test(message) : UNTRUSTED.test(code);
}

/** Whether Redis has no such database: ioredis would continue in database 0. */
export function isWrongDatabase(error: unknown): boolean {
  if (!isReply(error) || !(error instanceof Error) || !('command' in error)) return false;
  const { command } = error as { command?: { name?: string } };
  return command?.name === 'select';
}

/** Whether the server closed the line, and not a time limit or a certificate. */
export function isCut({ message }: Error): boolean {
  return /EPIPE|ECONNRESET|^Connection is closed|^Stream isn't writeable/.test(message);
}

/** Whether a server's first words on a new line are that it has no room for it. */
export function hasNoRoom(data: Uint8Array): boolean {
  return Buffer.from(data.subarray(0, 40)).toString('latin1').startsWith('-ERR max number of clients');
}

/** A client's address, without credentials. */
export function addressOf(client: Redis | Cluster): string {
  if (client instanceof Cluster) return `the cluster of ${startupNodes(client).map(nodeAddress).join(', ')}`;
  return placeOf(client.options);
}

/** The address of connection options, without credentials. */
export function specAddress(spec: ConnectionSpec): string {
  if (isCluster(spec)) return `the cluster of ${startupNodes(spec).map(nodeAddress).join(', ')}`;
  return placeOf(redisOptions(spec));
}

function placeOf({ path, sentinels, name, ...server }: RedisOptions): string {
  if (sentinels) return `"${name}" of the sentinels ${sentinels.map(nodeAddress).join(', ')}`;
  return path === undefined || path === null ? nodeAddress(server) : withoutSecrets(path);
}

function nodeAddress(node: unknown): string {
  if (typeof node === 'string') return bareHost(node);
  if (typeof node !== 'object' || node === null) return `127.0.0.1:${String(node)}`;
  const { host = '127.0.0.1', port = 6379 } = node as { host?: string; port?: number };
  return `${bareHost(host)}:${port}`;
}

/** What stands around a host may be a password: also where a whole URL was given for a host. */
function bareHost(text: string): string {
  const [host = ''] = text
    .replace(/^.*@/s, '')
    .replace(/^[a-z][a-z+.-]*:\/\//i, '')
    .split(/[/?#]/, 1);
  return host;
}
