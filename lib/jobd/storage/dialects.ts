import { missingPackage } from '../../package/optional-package.js';
import { toCause } from '../../job/cause.js';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { MysqlDialect, PostgresDialect, type Dialect } from 'kysely';
import { reasonOf } from '../../job/error-info.js';
import { DEFAULT_PORTS, type DatabaseLocation, type ServerLocation } from './database-location.js';
import { DatabaseSetupError } from './errors.js';
import { openSqlite } from './sqlite-dialect.js';

interface ConnectionOptions {
  /** The most connections. */
  readonly connections: number;
  /** Milliseconds; see `DatabaseOptions`. */
  readonly answerTimeout: number;
}

/** Access to a database, and a way to cut it off at once. */
export interface OpenedDialect {
  readonly dialect: Dialect;
  /** Breaks its connections, also those that wait. */
  cut(): void;
}

/** Two batches of beginnings, two of short texts, one of long ones, one of rows that wait again, a fetch, and a look at other members. */
const MAX_CONNECTIONS = 8;
export const ANSWER_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;

/** Loads the driver of a database; only this one must be installed. @throws MissingPackageError, DatabaseSetupError */
export async function openDialect(
  location: DatabaseLocation,
  { connections = MAX_CONNECTIONS, answerTimeout = ANSWER_MS }: Partial<ConnectionOptions> = {},
): Promise<OpenedDialect> {
  if (location.dialect === 'sqlite') {
    const dialect = openSqlite(location, await loadLibsql());
    return { dialect, cut: () => undefined };
  }
  const options = { connections, answerTimeout };
  return location.dialect === 'mysql' ? openMysql(location, options) : openPostgres(location, options);
}

async function openMysql(
  server: ServerLocation,
  { connections, answerTimeout }: ConnectionOptions,
): Promise<OpenedDialect> {
  const { default: mysql } = await loadMysql();
  const tls = tlsOf(server);
  const pool = mysql.createPool({
    host: server.host,
    port: server.port ?? DEFAULT_PORTS.mysql,
    user: server.user,
    password: server.password,
    database: server.database,
    charset: 'utf8mb4_general_ci',
    connectionLimit: connections,
    // A transaction takes two round trips instead of six. Values never become part of a statement unquoted.
    multipleStatements: true,
    // Ids too large for a number come as text: rounded, they would be other ids.
    supportBigNumbers: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    ssl: tls && { ...tls, verifyIdentity: true },
  });
  const sockets = new Set<Socket>();
  pool.on('connection', (connection) => {
    const { stream } = connection as unknown as { readonly stream: Socket };
    sockets.add(stream);
    stream.once('close', () => sockets.delete(stream));
    // A broken connection fails the queries that wait on it; this event has nothing to add.
    connection.on('error', () => undefined);
    for (const setting of [...MYSQL_SESSION, idleTransactions(answerTimeout)])
      connection.query(setting, () => undefined);
  });
  // Unlike the connection's own `destroy`, this fails the queries that wait for an answer.
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { dialect: new MysqlDialect({ pool }), cut };
}

/**
 * Without gap locks daemons rarely block each other. A server that logs statements would refuse writes at this level,
 * and keeps its own.
 */
const MYSQL_SESSION = [
  // The driver quotes with backslashes; under this mode a job's output could end its quotes. And a column must
  // refuse what it can't hold, since we cut it better than the server.
  "SET SESSION sql_mode = CONCAT_WS(',', REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'STRICT_TRANS_TABLES')",
  // A single statement must commit.
  'SET SESSION autocommit = 1',
  'SET SESSION innodb_lock_wait_timeout = 3',
  "SET SESSION TRANSACTION_ISOLATION = IF(@@log_bin AND @@binlog_format = 'STATEMENT', @@transaction_isolation, 'READ-COMMITTED')",
  "SET SESSION TX_ISOLATION = IF(@@log_bin AND @@binlog_format = 'STATEMENT', @@tx_isolation, 'READ-COMMITTED')",
];

/** A server does not notice that a client lost power, and would keep its locks for hours. MariaDB only. */
function idleTransactions(ms: number): string {
  return `SET SESSION idle_transaction_timeout = ${Math.ceil(ms / 1000)}`;
}

async function openPostgres(
  server: ServerLocation,
  { connections: max, answerTimeout }: ConnectionOptions,
): Promise<OpenedDialect> {
  const { default: pg } = await loadPg();
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    host: server.host,
    port: server.port ?? DEFAULT_PORTS.postgres,
    user: server.user,
    password: server.password,
    database: server.database,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ssl: tlsOf(server) ?? false,
    types: {
      getTypeParser: (type, format) => POSTGRES_TYPES.get(type) ?? pg.types.getTypeParser(type, format),
    },
    stream: () => tracked(sockets),
  });
  // A broken connection fails the queries that wait on it; these events have nothing to add.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    // Not as startup parameters, which poolers refuse.
    const idle = `set idle_in_transaction_session_timeout = ${answerTimeout}`;
    client.query(`set lock_timeout = 3000; ${idle}`).catch(() => undefined);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { dialect: new PostgresDialect({ pool }), cut };
}

/** Types that the driver decodes differently: large integers as text, and CHAR padded with spaces. */
const POSTGRES_TYPES: ReadonlyMap<number, (text: string) => unknown> = new Map<
  number,
  (text: string) => unknown
>([
  [20, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text)],
  [1042, (text) => text.trimEnd()],
]);

/** Checks the server's certificate and its host name. @throws DatabaseSetupError */
function tlsOf({ tls, tlsCa }: ServerLocation): { rejectUnauthorized: true; ca?: Buffer } | undefined {
  if (tlsCa === undefined) return tls ? { rejectUnauthorized: true } : undefined;
  try {
    return { rejectUnauthorized: true, ca: readFileSync(tlsCa) };
  } catch (error) {
    throw new DatabaseSetupError(`The file of \`tls_ca\` can't be read: ${reasonOf(error)}.`, {
      cause: toCause(error),
    });
  }
}

function tracked(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once('close', () => sockets.delete(socket));
}

const DRIVER = 'The driver of the database';

async function loadLibsql() {
  try {
    return await import('libsql');
  } catch (error) {
    throw missingPackage(error, DRIVER, 'libsql');
  }
}

async function loadMysql() {
  try {
    return await import('mysql2');
  } catch (error) {
    throw missingPackage(error, DRIVER, 'mysql2');
  }
}

async function loadPg() {
  try {
    return await import('pg');
  } catch (error) {
    throw missingPackage(error, DRIVER, 'pg');
  }
}
