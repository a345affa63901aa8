import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { failureOf } from './api.filter.js';
import type { DashboardUser } from './dashboard.options.js';
import type { Query } from './job-reads.js';
import { userOf } from './request-user.js';
import { send } from './responses.js';

/** What a route answers. */
export interface Asked {
  readonly request: object;
  readonly response: object;
  readonly user: DashboardUser;
  readonly query: Query;
  readonly body: unknown;
}

/**
 * The object whose methods the routes are. It is no controller: with a request-scoped global guard, pipe, interceptor or filter Nest
 * makes each controller anew for each request.
 */
export const ROUTES = Symbol('DashboardRoutes');

/** A route: returns what it answers as JSON, or answers itself and returns nothing. */
type Route = (this: object, asked: Asked) => unknown;

/**
 * Runs the routes, as the last guard: interceptors of the app come behind guards, and one that wraps answers, replaces them or keeps
 * them for other users is for the app's own routes.
 */
@Injectable()
export class RouteGuard implements CanActivate {
  constructor(@Inject(ROUTES) private readonly routes: object) {}

  async canActivate(context: ExecutionContext): Promise<never> {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<object>(), http.getResponse<object>()];
    const { query = {}, body } = request as { query?: Query; body?: unknown };
    const route = context.getHandler() as Route;
    try {
      const user = userOf(request);
      const found = await route.call(this.routes, { request, response, user, query, body });
      if (found !== undefined) sendJson(response, found);
    } catch (error) {
      throw failureOf(error);
    }
    // It is answered: nothing behind this guard has anything to do.
    return new Promise<never>(() => undefined);
  }
}

function sendJson(response: object, value: unknown): void {
  const bytes = Buffer.from(JSON.stringify(value));
  send(response, { bytes, headers: { 'content-type': 'application/json; charset=utf-8' } });
}
