import {
  Controller,
  Get,
  Inject,
  Post,
  type Provider,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';
import { AccessGuard } from './access.guard.js';
import { DashboardActions } from './actions.js';
import { ApiFilter, LoginFilter } from './api.filter.js';
import type { Session } from './api.js';
import { BulkRuns } from './bulk-runs.js';
import { ApiFailure } from './dashboard-errors.js';
import { DASHBOARD, type CheckedDashboard } from './dashboard.options.js';
import { FlowReads } from './flow-reads.js';
import { FunctionReads } from './function-reads.js';
import { idOf, JobReads } from './job-reads.js';
import { LiveUpdates } from './live.js';
import { answerOf, PageAssets, type PageAsset } from './page-assets.js';
import { onceGone, pathOf, rawRequest, rawResponse } from './request-facts.js';
import { send, taken } from './responses.js';
import { RouteGuard, ROUTES, type Asked } from './route.guard.js';
import { SystemReads } from './system-reads.js';
import { DashboardAccess } from './viewed-instance.js';

/** A download of which nothing is read for so long is given up: others wait for its place. */
const UNREAD_MS = 30_000;

/** The routes of the dashboard. */
@UseGuards(AccessGuard, RouteGuard)
@UseFilters(ApiFilter)
abstract class DashboardRoutes {
  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(FunctionReads) private readonly functions: FunctionReads,
    @Inject(SystemReads) private readonly systems: SystemReads,
    @Inject(JobReads) private readonly jobs: JobReads,
    @Inject(FlowReads) private readonly flows: FlowReads,
    @Inject(DashboardActions) private readonly actions: DashboardActions,
    @Inject(BulkRuns) private readonly bulks: BulkRuns,
    @Inject(LiveUpdates) private readonly live: LiveUpdates,
    @Inject(PageAssets) private readonly assets: PageAssets,
  ) {}

  @Get('api/session')
  session({ user: { name: user } }: Asked): Session {
    const { title, readOnly } = this.options;
    const instances = this.access.instances();
    return { protocol: 1, user, title, version: PACKAGE_VERSION, readOnly, instances };
  }

  @Get('api/overview')
  overview({ user, query }: Asked) {
    return this.functions.overview(user, query);
  }

  @Get('api/rights')
  rights({ user, query }: Asked) {
    return this.functions.rights(user, query);
  }

  @Get('api/statistics')
  statistics({ user, query }: Asked) {
    return this.functions.statistics(user, query);
  }

  @Get('api/jobs')
  list({ user, query }: Asked) {
    return this.jobs.list(user, query);
  }

  @Get('api/find')
  find({ user, query }: Asked) {
    return this.jobs.find(user, query);
  }

  @Get('api/job')
  job({ user, query }: Asked) {
    return this.jobs.job(user, query);
  }

  @Get('api/flow')
  flow({ user, query }: Asked) {
    return this.flows.flow(user, query);
  }

  @Get('api/payload')
  payload({ user, query }: Asked) {
    return this.jobs.payload(user, query);
  }

  @Get('api/stream')
  streamed({ user, query }: Asked) {
    return this.jobs.stream(user, query);
  }

  @Get('api/raw')
  raw({ response, user, query }: Asked) {
    return this.jobs.download(user, query, async (bytes) => {
      const name = `${idOf(query)}-${String(query['part'])}.bin`;
      const headers = {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${name}"`,
      };
      send(response, { headers, bytes });
      const raw = rawResponse(response);
      raw.setTimeout(UNREAD_MS, () => raw.destroy());
      await new Promise<void>((resolve) => onceGone(raw, resolve));
    });
  }

  @Get('api/failures')
  failures({ user, query }: Asked) {
    return this.functions.failures(user, query);
  }

  @Get('api/limits')
  limits({ user, query }: Asked) {
    return this.functions.limits(user, query);
  }

  @Get('api/schedules')
  schedules({ user, query }: Asked) {
    return this.functions.schedules(user, query);
  }

  @Get('api/workers')
  workers({ user, query }: Asked) {
    return this.functions.workers(user, query);
  }

  @Get('api/native')
  native({ user, query }: Asked) {
    return this.systems.native(user, query);
  }

  @Get('api/native/row')
  nativeRow({ user, query }: Asked) {
    return this.systems.row(user, query);
  }

  @Get('api/live')
  stream({ request, response, user, query }: Asked) {
    const { method, socket } = rawRequest(request);
    const address = 'ip' in request ? String(request.ip) : (socket.remoteAddress ?? '');
    const open = this.live.prepare(user, query['topics'], address);
    const raw = taken(response);
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    if (method === 'HEAD') raw.end();
    else open(raw);
  }

  @Get('api/bulk')
  bulk({ user, query }: Asked) {
    const view = this.bulks.need(query['id']);
    this.access.viewed(user, view.i, view.fn);
    return view;
  }

  @Get('api/bulks')
  allBulks({ user }: Asked) {
    return this.bulks.all(user.name).filter(({ fn, i }) => this.access.mayView(user, fn, i));
  }

  @Post('api/act')
  act({ user, body }: Asked) {
    return this.actions.act(user, body);
  }

  @Post('api/bulk/cancel')
  cancelBulk({ user, body }: Asked) {
    this.actions.cancelBulk(user, (body as { id?: unknown } | undefined)?.id);
    return { ok: true };
  }

  @Get('')
  page({ request, response }: Asked) {
    const path = pathOf(request);
    const sendFile = (asset: PageAsset) => send(response, answerOf(asset, rawRequest(request), response));
    if (path.endsWith('/')) return sendFile(this.assets.index);
    const [last = ''] = path.split('/').slice(-1);
    const found = this.assets.get(`assets/${last}`) ?? this.assets.get(last);
    if (found) return sendFile(found);
    if (!this.isRoot(path)) throw ApiFailure.notFound('such file');
    // Relative, so that it is right behind a proxy that strips a prefix.
    send(response, { status: 302, headers: { location: `${last}/` } });
  }

  protected abstract isRoot(path: string): boolean;
}

/** The routes at a path, and their providers: a class for each path, since Nest reads it from the class. */
export function controllerAt(path: string): { controller: Type; providers: Provider[] } {
  @Controller({ path, version: VERSION_NEUTRAL })
  class DashboardController extends DashboardRoutes {
    rest(asked: Asked) {
      return this.page(asked);
    }

    protected isRoot(asked: string): boolean {
      return path !== '' && asked.endsWith(`/${path}`);
    }
  }
  const finish = {
    provide: Symbol('FinishedRoutes'),
    inject: [HttpAdapterHost, DASHBOARD, ApiFilter, PageAssets],
    useFactory: (
      { httpAdapter }: HttpAdapterHost,
      options: CheckedDashboard,
      answers: ApiFilter,
      assets: PageAssets,
    ) => {
      if (options.login !== undefined) UseFilters(new LoginFilter(options, answers))(DashboardController);
      // For Fastify a path with a slash at its end is another one, which only `*` matches. In Express the first route that matches
      // has a request: each file has its own, so that those of the app beside them stay the app's.
      const route = httpAdapter?.getType() === 'fastify' ? '*' : assets.names;
      const descriptor = Object.getOwnPropertyDescriptor(DashboardController.prototype, 'rest');
      if (descriptor) Get(route)(DashboardController.prototype, 'rest', descriptor);
      return route;
    },
  };
  return {
    controller: DashboardController,
    providers: [{ provide: ROUTES, useClass: DashboardController }, finish],
  };
}
