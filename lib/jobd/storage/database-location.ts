import { defined } from '../../job/defined.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { DatabaseSetupError } from './errors.js';

/** A server, as the `mysql_*` options or a URL name it. */
export interface ServerLocation {
  readonly dialect: 'mysql' | 'postgres';
  readonly host: string;
  /** @default the dialect's own, 3306 or 5432 */
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
  readonly database: string;
  /** Encrypts the connection and checks the server's certificate. @default false */
  readonly tls?: boolean;
  /** A file with the certificate of an authority of your own, in PEM; encrypts as well. @default the system's authorities */
  readonly tlsCa?: string;
}

/** A file of this machine. */
export interface FileLocation {
  readonly dialect: 'sqlite';
  readonly path: string;
}

/** Where the database is: on a server, or in a file of SQLite. */
export type DatabaseLocation = ServerLocation | FileLocation;

const SERVER = optionNames<ServerLocation>({
  dialect: true,
  host: true,
  port: true,
  user: true,
  password: true,
  database: true,
  tls: true,
  tlsCa: true,
});
const FILE = optionNames<FileLocation>({ dialect: true, path: true });
const KNOWN: ReadonlyMap<unknown, ReadonlySet<string>> = new Map<
  DatabaseLocation['dialect'],
  ReadonlySet<string>
>([
  ['mysql', SERVER],
  ['postgres', SERVER],
  ['sqlite', FILE],
]);

/** Reads a URL, or checks an object: a mistyped `tlsCa` would be a connection that any server may answer. @throws DatabaseSetupError, ConfigurationError */
export function toLocation(database: string | DatabaseLocation): DatabaseLocation {
  if (typeof database === 'string') return parseDatabaseUrl(database);
  const known = typeof database === 'object' ? KNOWN.get(database?.dialect) : undefined;
  if (!known)
    throw new DatabaseSetupError(
      `${EXPECTED}, or its parts with a \`dialect\`: 'mysql', 'postgres' or 'sqlite'.`,
    );
  return checkOptions('database', database, known);
}

/** Where a database is, without its user and password. */
export function databaseAddress(database: string | DatabaseLocation): string {
  const place = toLocation(database);
  if (place.dialect === 'sqlite') return `sqlite:${place.path}`;
  const { dialect, host, port = DEFAULT_PORTS[dialect] } = place;
  return `${dialect}://${host.includes(':') ? `[${host}]` : host}:${port}/${place.database}`;
}

export const DEFAULT_PORTS = { mysql: 3306, postgres: 5432 } as const;

const DIALECTS: Readonly<Record<string, 'mysql' | 'postgres'>> = {
  'mysql:': 'mysql',
  'mariadb:': 'mysql',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
};
const EXPECTED =
  "`database` must be a URL like 'mysql://user:password@host:3306/name', 'postgres://…' or 'sqlite:/path/jobs.db'";

/**
 * What a `database` URL names; `?tls=true` encrypts, and so does `?tls_ca=FILE`. The URL is never repeated, since it may hold a password.
 *
 * @throws DatabaseSetupError
 */
export function parseDatabaseUrl(text: string): DatabaseLocation {
  if (text.startsWith('sqlite:')) return sqliteFile(text.slice('sqlite:'.length));
  if (!URL.canParse(text)) throw new DatabaseSetupError(`${EXPECTED}.`);
  const url = new URL(text);
  const dialect = Object.hasOwn(DIALECTS, url.protocol) ? DIALECTS[url.protocol] : undefined;
  if (!dialect) throw new DatabaseSetupError(`${EXPECTED}; its scheme is '${url.protocol}'.`);
  const database = decoded(url.pathname.slice(1));
  if (!url.hostname || !database || database.includes('/')) {
    throw new DatabaseSetupError(`${EXPECTED}; its ${url.hostname ? 'database' : 'host'} is missing.`);
  }
  return defined({
    dialect,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port ? Number(url.port) : undefined,
    user: url.username ? decoded(url.username) : undefined,
    password: url.password ? decoded(url.password) : undefined,
    database,
    ...readTls(url.searchParams),
  });
}

function sqliteFile(rest: string): FileLocation {
  const path = decoded(rest.replace(/^\/\/(?=\/)/, ''));
  if (path && !path.startsWith('//')) return { dialect: 'sqlite', path };
  throw new DatabaseSetupError(`${EXPECTED}; its path is missing.`);
}

function readTls(parameters: URLSearchParams): Pick<ServerLocation, 'tls' | 'tlsCa'> {
  for (const name of parameters.keys()) {
    if (name !== 'tls' && name !== 'tls_ca')
      throw new DatabaseSetupError(`${EXPECTED}; it knows the parameters 'tls' and 'tls_ca', not '${name}'.`);
  }
  const tls = parameters.get('tls') ?? 'false';
  if (tls !== 'true' && tls !== 'false') throw new DatabaseSetupError(`${EXPECTED}; 'tls' is true or false.`);
  const tlsCa = parameters.get('tls_ca') ?? undefined;
  return defined({ tls: tls === 'true' || tlsCa !== undefined, tlsCa });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new DatabaseSetupError(`${EXPECTED}; a '%' in it is written '%25'.`);
  }
}
