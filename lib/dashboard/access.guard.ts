import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Closing } from './closing.js';
import { failureOf } from './api.filter.js';
import { ApiFailure } from './dashboard-errors.js';
import {
  DASHBOARD,
  type CheckedDashboard,
  type DashboardRequest,
  type DashboardUser,
} from './dashboard.options.js';
import { LocalAccess } from './local-access.js';
import { refusal } from './refusal.js';
import { noteUser } from './request-user.js';
import { setHeaders } from './responses.js';
import { cookiesOf, isForeignRead, isRead, isSameOrigin, rawRequest, rawResponse } from './request-facts.js';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
const MAX_BODY = 256 * 1024;

/** Stands before everything the dashboard serves: headers, who it is, and where its request comes from. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(Closing) private readonly closing: Closing,
    @Inject(LocalAccess) private readonly local: LocalAccess,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<object>(), http.getResponse<object>()];
    setHeaders(response, HEADERS);
    this.closing.check(rawResponse(response));
    const raw = rawRequest(request);
    const user = await this.userOf(request);
    if (!isUser(user)) throw refusal(this.options, raw);
    noteUser(request, user);
    if (!isRead(raw)) this.checkChange(request);
    else if (isForeignRead(request)) throw crossSite('read');
    return true;
  }

  private async userOf(request: object): Promise<DashboardUser | undefined> {
    const { auth } = this.options;
    if (!auth) return this.local.userOf(request);
    try {
      return await auth(withCookies(request) as DashboardRequest);
    } catch (error) {
      const failure = failureOf(error);
      if (failure.status === 401) return undefined;
      throw failure;
    }
  }

  private checkChange(request: object): void {
    const { headers } = rawRequest(request);
    if (!isSameOrigin(request)) throw crossSite('change');
    if (!/^application\/json(?:;|$)/i.test(headers['content-type'] ?? ''))
      throw new ApiFailure(415, 'NOT_JSON', 'Send application/json.');
    if (Number(headers['content-length'] ?? 0) > MAX_BODY)
      throw new ApiFailure(413, 'TOO_LARGE', `Send at most ${MAX_BODY} bytes.`);
    if (this.options.readOnly) throw new ApiFailure(403, 'READ_ONLY', 'The dashboard is read-only.');
  }
}

function crossSite(deed: 'read' | 'change'): ApiFailure {
  return new ApiFailure(403, 'CROSS_SITE', `Another site may not ${deed} anything.`);
}

/** The request, with its cookies also without a parser of the app. */
function withCookies(request: object): object {
  const parsed = request as { cookies?: unknown };
  parsed.cookies ??= Object.fromEntries(
    [...cookiesOf(rawRequest(request))].map(([name, [first]]) => [name, first]),
  );
  return request;
}

/** An `auth` in plain JavaScript may return anything, such as true. */
function isUser(user: DashboardUser | undefined): user is DashboardUser {
  return typeof user === 'object' && user !== null && typeof user.name === 'string';
}
