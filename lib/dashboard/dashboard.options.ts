import type { IncomingHttpHeaders } from 'node:http';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { Action } from './api.js';
import { DashboardOpenError } from './dashboard-errors.js';

/** What `auth` gets: the request of Express or Fastify. */
export interface DashboardRequest {
  readonly headers: IncomingHttpHeaders;
  /** The path and query that the app was asked for. */
  readonly url: string;
  /** The address of who asks; behind a proxy the proxy's, unless the app trusts it: `trust proxy` or `trustProxy`. */
  readonly ip?: string;
  /** Those of the app's parser; without one as the browser sent them. */
  readonly cookies: Readonly<Record<string, string | undefined>>;
  /** What guards and middleware of the app have put there. */
  readonly user?: unknown;
  readonly session?: unknown;
}

/** Who uses the dashboard, and what they may do. */
export interface DashboardUser {
  /** Named in audit events. */
  readonly name: string;
  /** Which functions they see. */
  readonly view: boolean | ((fn: string, instance: string) => boolean);
  /** What they may change of functions that they see. */
  readonly act: boolean | ((action: Action, fn: string, instance: string) => boolean);
}

/** Decides who a request is from; undefined is answered with 401. */
export interface DashboardAuth {
  (request: DashboardRequest): DashboardUser | undefined | Promise<DashboardUser | undefined>;
  /** The `WWW-Authenticate` of the answer. @default none */
  readonly challenge?: string;
}

/** Text that the dashboard is about to show. */
export interface ShownText {
  readonly text: string;
  /**
   * Where it is from. `error`: its name, message, code and stack; `header`: its name or value; `name`: that of a step or
   * signal; `field`: the options and unknown fields of a job, and other texts in tables and rows of
   * qless, JQ and jobd.
   */
  readonly part: 'input' | 'output' | 'error' | 'header' | 'chunk' | 'log' | 'name' | 'field';
  readonly instance: string;
  readonly fn: string;
}

/** Options that a factory may return. */
export interface DashboardOptions {
  /** Who may see and do what. @default who has the token that the app logs at its start, on this machine, outside production */
  auth?: DashboardAuth;
  /**
   * Where people sign in, such as `'/login?next=/jobs/'`: a browser that opens a page goes there when `auth` knows no user, or
   * a guard of the app throws an UnauthorizedException. Other requests get 401. @default 401 for all
   */
  login?: string;
  /** Whether all changes are refused. @default true with NODE_ENV=production, else false */
  readOnly?: boolean;
  /** Returns what is shown in place of a text. If it throws, nothing is shown. @default the text */
  redact?: (shown: ShownText) => string;
  /** The page's heading. @default 'Jobs' */
  title?: string;
}

/** Options of `DashboardModule.forRoot`. */
export interface DashboardModuleOptions extends DashboardOptions {
  /** Where it is served, under the app's global prefix. @default '/jobs' */
  path?: string;
}

/** Options, checked and with defaults. */
export interface CheckedDashboard {
  readonly auth: DashboardAuth | undefined;
  readonly login: string | undefined;
  readonly readOnly: boolean;
  readonly redact: ((shown: ShownText) => string) | undefined;
  readonly title: string;
}

export const DASHBOARD = Symbol('DashboardOptions');
/** The path of its controllers: without slashes at its ends. */
export const DASHBOARD_PATH = Symbol('DashboardPath');
const NAMES = optionNames<Required<DashboardModuleOptions>>({
  path: true,
  auth: true,
  login: true,
  readOnly: true,
  redact: true,
  title: true,
});
const MAX_TITLE = 100;

/** @throws ConfigurationError, InvalidOptionError, DashboardOpenError */
export function checkDashboard(given: DashboardModuleOptions): CheckedDashboard {
  const isProduction = process.env['NODE_ENV'] === 'production';
  const options = checkOptions('DashboardModule', given, NAMES);
  const { auth, login, readOnly = isProduction, redact, title = 'Jobs' } = options;
  for (const [name, value] of Object.entries({ auth, redact }))
    if (value !== undefined && typeof value !== 'function')
      throw new InvalidOptionError(name, value, 'a function');
  if (typeof readOnly !== 'boolean') throw new InvalidOptionError('readOnly', readOnly, 'true or false');
  if (typeof title !== 'string' || title.length > MAX_TITLE)
    throw new InvalidOptionError('title', title, `text of at most ${MAX_TITLE} characters`);
  if (!auth && isProduction) throw new DashboardOpenError('NODE_ENV is production');
  return { auth, login: checkLogin(login, auth), readOnly, redact, title };
}

/** @throws ConfigurationError, InvalidOptionError */
function checkLogin(login: unknown, auth: DashboardAuth | undefined): string | undefined {
  if (login === undefined) return undefined;
  if (typeof login !== 'string' || !/^(?:\/|https?:\/\/)[!-~]*$/.test(login))
    throw new InvalidOptionError('login', login, "an address such as '/login' or 'https://id.example/login'");
  if (!auth)
    throw new ConfigurationError('`login` of DashboardModule needs `auth`, which says who is signed in.');
  return login;
}

/** The path of controllers. @throws ConfigurationError */
export function checkPath(path: unknown = '/jobs'): string {
  if (typeof path === 'string' && /^\/?[\w.~-]*(?:\/[\w.~-]+)*\/?$/.test(path))
    return path.replace(/^\/|\/$/g, '');
  throw new ConfigurationError("`path` of DashboardModule must be a path such as '/jobs' or '/admin/jobs'.");
}
