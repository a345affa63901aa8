import { missingPackage } from '../../package/optional-package.js';
import { toCause } from '../../job/cause.js';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { MysqlDialect, PostgresDialect, type Dialect } from 'kysely';
import { messageOf } from '../../job/errors.js';
import { DEFAULT_PORTS, type DatabaseLocation, type ServerLocation } from './database-location.js';
import { DatabaseSetupError } from './errors.js';
import { openSqlite } from './sqlite-dialect.js';

interface ConnectionOptions {
  /** How many there may be. */
  readonly connections: number;
  /** Milliseconds; see `DatabaseOptions`. */
  readonly answerTimeout: number;
}

/** A way into a database, and the way to cut it at once. */
export interface OpenedDialect {
  readonly dialect: Dialect;
  /** Breaks its connections, whatever they wait for. */
  cut(): void;
}

/** Two batches of beginnings, two of small texts, one of large ones, one of rows that wait again, a fetch, and a look at what others do. */
const MAX_CONNECTIONS = 8;
export const ANSWER_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;

/** Loads the driver of a database; only the one that is used has to be installed. @throws MissingPackageError, DatabaseSetupError */
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
    // A transaction in two round trips instead of six. Values never become part of a statement's text unquoted.
    multipleStatements: true,
    // Those that no number holds are given as text: rounded, they would be other ids.
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
 * Without gap locks daemons rarely get into each other's way. A server that logs statements would refuse
 * writes then, and keeps its own level.
 */
const MYSQL_SESSION = [
  // The driver quotes with backslashes; under this mode a job's output could end its quotes. And what a column
  // can't hold is to be refused, since we cut it better.
  "SET SESSION sql_mode = CONCAT_WS(',', REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'STRICT_TRANS_TABLES')",
  // What a single statement writes is to be there.
  'SET SESSION autocommit = 1',
  'SET SESSION innodb_lock_wait_timeout = 3',
  "SET SESSION TRANSACTION_ISOLATION = IF(@@log_bin AND @@binlog_format = 'STATEMENT', @@transaction_isolation, 'READ-COMMITTED')",
  "SET SESSION TX_ISOLATION = IF(@@log_bin AND @@binlog_format = 'STATEMENT', @@tx_isolation, 'READ-COMMITTED')",
];

/** Of a client that lost power the server hears nothing: it would keep the locks of its transaction for hours. MariaDB's. */
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
    // Not as a parameter of the connection's start, which poolers between refuse.
    const idle = `set idle_in_transaction_session_timeout = ${answerTimeout}`;
    client.query(`set lock_timeout = 3000; ${idle}`).catch(() => undefined);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { dialect: new PostgresDialect({ pool }), cut };
}

/** Where the driver gives what JavaScript has otherwise: large integers as text, and CHAR with spaces to its full length. */
const POSTGRES_TYPES: ReadonlyMap<number, (text: string) => unknown> = new Map<
  number,
  (text: string) => unknown
>([
  [20, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text)],
  [1042, (text) => text.trimEnd()],
]);

/** The server's certificate is checked, and whether it is the host's. @throws DatabaseSetupError */
function tlsOf({ tls, tlsCa }: ServerLocation): { rejectUnauthorized: true; ca?: Buffer } | undefined {
  if (tlsCa === undefined) return tls ? { rejectUnauthorized: true } : undefined;
  try {
    return { rejectUnauthorized: true, ca: readFileSync(tlsCa) };
  } catch (error) {
    throw new DatabaseSetupError(`The file of \`tls_ca\` can't be read: ${messageOf(error)}.`, {
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
