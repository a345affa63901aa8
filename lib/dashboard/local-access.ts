import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { ConfigurationError } from '../job/errors.js';
import { secretDigest, secretEquals } from '../net/secret-equals.js';
import { ApiFailure } from './dashboard-errors.js';
import { DASHBOARD, DASHBOARD_PATH, type CheckedDashboard, type DashboardUser } from './dashboard.options.js';
import { cookiesOf, isLocal, isRead, namedHost, pathOf, rawRequest } from './request-facts.js';

const VARIABLE = 'GEARMONKEY_DASHBOARD_TOKEN';
const TOKEN_BYTES = 24;
/** Who has the token. */
const LOCAL: DashboardUser = { name: 'local', view: true, act: true };

/**
 * Who may use a dashboard without `auth`: who has the token that the app logs when it starts. An address proves nothing: a
 * plain proxy brings requests from anywhere in the name of this machine, which has other users as well.
 */
@Injectable()
export class LocalAccess {
  // Private, so that neither `inspect` nor JSON show them.
  readonly #token: string;
  readonly #digest: Buffer;

  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(DASHBOARD_PATH) private readonly path: string,
  ) {
    this.#token = tokenOf(options.auth ? undefined : process.env[VARIABLE]);
    this.#digest = secretDigest(this.#token);
  }

  /** What opens the dashboard; undefined if `auth` decides that. */
  get token(): string | undefined {
    return this.options.auth ? undefined : this.#token;
  }

  /** The user, if the request has the cookie. One that brings the token gets it. @throws ApiFailure 302, 401, 403 */
  userOf(request: object): DashboardUser {
    const raw = rawRequest(request);
    if (!isLocal(raw))
      throw new ApiFailure(403, 'LOCAL_ONLY', 'Without `auth` the dashboard answers only this machine.');
    const cookie = cookieName(raw);
    const isKnown = (cookiesOf(raw).get(cookie) ?? []).some((value) => this.isToken(value));
    const [path, given] = [pathOf(request), queryToken(raw)];
    const isRight = given !== undefined && this.isToken(given);
    if (given !== undefined && isRead(raw) && this.isPage(path) && (isKnown || isRight))
      throw withoutToken(path, raw, isRight ? `${cookie}=${given}` : undefined);
    if (isKnown) return LOCAL;
    throw new ApiFailure(
      401,
      'NOT_LOGGED_IN',
      'Open the dashboard at the URL with a token that the app logs when it starts. ' +
        `The token is another one after a restart, unless $${VARIABLE} is set.`,
    );
  }

  private isToken(text: string): boolean {
    return secretEquals(secretDigest(text), this.#digest);
  }

  private isPage(path: string): boolean {
    return path.endsWith('/') || (this.path !== '' && path.endsWith(`/${this.path}`));
  }
}

/** @throws ConfigurationError */
function tokenOf(given: string | undefined): string {
  if (given === undefined || given === '') return randomBytes(TOKEN_BYTES).toString('base64url');
  if (/^[\w.~-]{16,200}$/.test(given)) return given;
  throw new ConfigurationError(
    `$${VARIABLE} must be 16 to 200 letters, digits or ._~-, such as the output of: openssl rand -hex 16`,
  );
}

/** Browsers send a cookie to all ports of a host: apps on other ports have cookies of other names. */
function cookieName(request: IncomingMessage): string {
  const port = /:(\d{1,5})$/.exec(namedHost(request) ?? '')?.[1] ?? request.socket.localPort;
  return `gearmonkey-dashboard-${port}`;
}

function queryToken({ url = '' }: IncomingMessage): string | undefined {
  const query = url.indexOf('?');
  return query < 0 ? undefined : (new URLSearchParams(url.slice(query)).get('token') ?? undefined);
}

/**
 * To the same page without a token in its address, with the cookie of the right one in its place. Both are relative, so that they
 * are right behind a proxy that strips a prefix: a cookie that names no path is for the folder of the address that a browser
 * asked for. Only that of an address without a slash at its end has to name its folder, since it would be for the one above.
 */
function withoutToken(path: string, { socket }: IncomingMessage, cookie: string | undefined): ApiFailure {
  const isFolder = path.endsWith('/');
  const secure = (socket as TLSSocket).encrypted ? '; Secure' : '';
  const set = `${cookie}; HttpOnly; SameSite=Lax${isFolder ? '' : `; Path=${path}`}${secure}`;
  return new ApiFailure(302, 'LOGGED_IN', 'The token is in a cookie now.', {
    location: isFolder ? './' : `${path.split('/').at(-1)}/`,
    ...(cookie !== undefined && { 'set-cookie': set }),
  });
}
