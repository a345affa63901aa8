import {
  Body,
  Controller,
  Get,
  Inject,
  Post,
  type Provider,
  Query,
  Req,
  Res,
  UseFilters,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';
import { AccessGuard } from './access.guard.js';
import { DashboardActions } from './actions.js';
import { ApiErrors, ApiFilter, LoginFilter } from './api.filter.js';
import type { Session } from './api.js';
import { BulkRuns } from './bulk-runs.js';
import { ApiFailure } from './dashboard-errors.js';
import { DASHBOARD, type CheckedDashboard } from './dashboard.options.js';
import { FlowReads } from './flow-reads.js';
import { FunctionReads } from './function-reads.js';
import { idOf, JobReads, type Query as Asked } from './job-reads.js';
import { LiveUpdates } from './live.js';
import { PageAssets, sendAsset, type PageAsset } from './page-assets.js';
import { onceGone, pathOf, rawRequest, rawResponse } from './request-facts.js';
import { userOf } from './request-user.js';
import { SystemReads } from './system-reads.js';
import { DashboardAccess } from './viewed-instance.js';

/** A download of which nothing is read for so long is given up: others wait for its place. */
const UNREAD_MS = 30_000;

/** The routes of the dashboard. */
@UseGuards(AccessGuard)
@UseFilters(ApiFilter)
@UseInterceptors(ApiErrors)
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
  session(@Req() request: object, @Res() response: object) {
    const { title, readOnly } = this.options;
    const { name: user } = userOf(request);
    const instances = this.access.instances();
    const version = PACKAGE_VERSION;
    return answer(response, { protocol: 1, user, title, version, readOnly, instances } satisfies Session);
  }

  @Get('api/overview')
  overview(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.overview(userOf(request), query));
  }

  @Get('api/rights')
  rights(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.rights(userOf(request), query));
  }

  @Get('api/statistics')
  statistics(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.statistics(userOf(request), query));
  }

  @Get('api/jobs')
  list(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.jobs.list(userOf(request), query));
  }

  @Get('api/find')
  find(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.jobs.find(userOf(request), query));
  }

  @Get('api/job')
  job(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.jobs.job(userOf(request), query));
  }

  @Get('api/flow')
  flow(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.flows.flow(userOf(request), query));
  }

  @Get('api/payload')
  payload(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.jobs.payload(userOf(request), query));
  }

  @Get('api/stream')
  streamed(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.jobs.stream(userOf(request), query));
  }

  @Get('api/raw')
  raw(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    const send = async (bytes: Buffer) => {
      const name = `${idOf(query)}-${String(query['part'])}.bin`;
      const raw = reply(response, bytes, {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${name}"`,
      });
      raw.setTimeout(UNREAD_MS, () => raw.destroy());
      await new Promise<void>((resolve) => onceGone(raw, resolve));
    };
    return this.jobs.download(userOf(request), query, send);
  }

  @Get('api/failures')
  failures(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.failures(userOf(request), query));
  }

  @Get('api/limits')
  limits(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.limits(userOf(request), query));
  }

  @Get('api/schedules')
  schedules(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.schedules(userOf(request), query));
  }

  @Get('api/workers')
  workers(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.functions.workers(userOf(request), query));
  }

  @Get('api/native')
  native(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.systems.native(userOf(request), query));
  }

  @Get('api/native/row')
  nativeRow(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    return answer(response, this.systems.row(userOf(request), query));
  }

  @Get('api/live')
  stream(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    const { method, socket } = rawRequest(request);
    const address = 'ip' in request ? String(request.ip) : (socket.remoteAddress ?? '');
    const open = this.live.prepare(userOf(request), query['topics'], address);
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
  bulk(@Req() request: object, @Res() response: object, @Query() query: Asked) {
    const view = this.bulks.need(query['id']);
    this.access.viewed(userOf(request), view.i, view.fn);
    return answer(response, view);
  }

  @Get('api/bulks')
  allBulks(@Req() request: object, @Res() response: object) {
    const user = userOf(request);
    const own = this.bulks.all(user.name);
    return answer(
      response,
      own.filter(({ fn, i }) => this.access.mayView(user, fn, i)),
    );
  }

  @Post('api/act')
  act(@Req() request: object, @Res() response: object, @Body() body: unknown) {
    return answer(response, this.actions.act(userOf(request), body));
  }

  @Post('api/bulk/cancel')
  cancelBulk(@Req() request: object, @Res() response: object, @Body() body: { id?: unknown } | undefined) {
    this.actions.cancelBulk(userOf(request), body?.id);
    return answer(response, { ok: true });
  }

  @Get('')
  page(@Req() request: object, @Res() response: object) {
    const path = pathOf(request);
    const send = (asset: PageAsset) => sendAsset(asset, rawRequest(request), taken(response));
    if (path.endsWith('/')) return send(this.assets.index);
    const [last = ''] = path.split('/').slice(-1);
    const found = this.assets.get(`assets/${last}`) ?? this.assets.get(last);
    if (found) return send(found);
    if (!this.isRoot(path)) throw ApiFailure.notFound('such file');
    const raw = taken(response);
    // Relative, so that it is right behind a proxy that strips a prefix.
    raw.writeHead(302, { location: `${last}/` }).end();
  }

  protected abstract isRoot(path: string): boolean;
}

/** The routes at a path, and a provider that finishes them: a class for each path, since Nest reads it from the class. */
export function controllerAt(path: string): { controller: Type; finish: Provider } {
  @Controller({ path, version: VERSION_NEUTRAL })
  class DashboardController extends DashboardRoutes {
    rest(@Req() request: object, @Res() response: object) {
      return this.page(request, response);
    }

    protected isRoot(asked: string): boolean {
      return path !== '' && asked.endsWith(`/${path}`);
    }
  }
  const finish = {
    provide: Symbol('DashboardRoutes'),
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
  return { controller: DashboardController, finish };
}

/** Past the app's interceptors: one that wraps answers, or keeps them and has another user get them, is for the app's own routes. */
async function answer(response: object, found: unknown): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(await found));
  reply(response, bytes, { 'content-type': 'application/json; charset=utf-8' });
}

function reply(response: object, bytes: Buffer, headers: Record<string, string>): ServerResponse {
  return taken(response)
    .writeHead(200, { ...headers, 'content-length': bytes.length })
    .end(bytes);
}

/** Node's response, which Fastify then leaves alone. */
function taken(response: object): ServerResponse {
  if ('hijack' in response && typeof response.hijack === 'function') response.hijack();
  return rawResponse(response);
}
