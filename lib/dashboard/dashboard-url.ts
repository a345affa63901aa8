import { Inject, Injectable, Logger, RequestMethod, type OnApplicationBootstrap } from '@nestjs/common';
import { MODULE_PATH } from '@nestjs/common/constants.js';
import { HttpAdapterHost, ModuleRef, ModulesContainer, type ApplicationConfig } from '@nestjs/core';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:tls';
import { DASHBOARD_PATH } from './dashboard.options.js';
import { LocalAccess } from './local-access.js';
import { isLoopback } from './request-facts.js';

/**
 * Where a dashboard without `auth` is opened. The app logs it when it listens; `app.get(DashboardUrl).url` is for programs
 * and tests.
 */
@Injectable()
export class DashboardUrl implements OnApplicationBootstrap {
  private readonly log = new Logger('Dashboard');

  constructor(
    @Inject(LocalAccess) private readonly access: { readonly token: string | undefined },
    @Inject(DASHBOARD_PATH) private readonly path: string,
    @Inject(HttpAdapterHost) private readonly adapters: HttpAdapterHost,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  onApplicationBootstrap(): void {
    if (this.access.token === undefined) return;
    this.server?.once('listening', () => {
      const { url } = this;
      if (url !== undefined)
        this.log.log(`Without \`auth\` the dashboard answers only this machine, at ${url}`);
      else if (typeof this.server?.address() === 'string')
        this.log.warn(
          'Without `auth` the dashboard refuses all requests by a socket in the file system. Give `auth`.',
        );
    });
  }

  /** With the token; undefined with `auth`, and unless the app listens on an address of this machine. */
  get url(): string | undefined {
    const address = this.server?.address() ?? null;
    const { token } = this.access;
    if (token === undefined || address === null || typeof address === 'string') return undefined;
    if (!isLoopback(address.address)) return undefined;
    const name = address.address.replace(/^::ffff:/, '');
    const host = name.includes(':') ? `[${name}]` : name;
    const scheme = this.server instanceof TlsServer ? 'https' : 'http';
    const below = [pathOfModule(this.modules), this.path].filter((part) => part !== '').join('/');
    const path = [prefixOf(this.moduleRef, below), below].filter((part) => part !== '');
    return `${scheme}://${host}:${address.port}/${path.map((part) => `${part}/`).join('')}?token=${token}`;
  }

  private get server(): Server | undefined {
    return this.adapters.httpAdapter?.getHttpServer() as Server | undefined;
  }
}

/** Where the app's `RouterModule` has put the dashboard's module. */
function pathOfModule(modules: ModulesContainer): string {
  const module = [...modules.values()].find(({ providers }) => providers.has(DashboardUrl));
  const path: unknown =
    module && Reflect.getMetadata(`${MODULE_PATH}${modules.applicationId}`, module.metatype);
  return typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
}

/** Those of exclusions from the global prefix that concern the page. */
const METHODS: ReadonlySet<RequestMethod> = new Set([RequestMethod.GET, RequestMethod.ALL]);

/** The app's global prefix, if it is not excluded from it: Nest has no public way to ask for that from inside. */
function prefixOf(moduleRef: ModuleRef, path: string): string {
  const { container } = moduleRef as unknown as { container?: { applicationConfig?: ApplicationConfig } };
  const config = container?.applicationConfig;
  const exclude = config?.getGlobalPrefixOptions().exclude ?? [];
  const isExcluded = exclude.some(
    ({ pathRegex, requestMethod }) => METHODS.has(requestMethod) && pathRegex.test(`/${path}`),
  );
  return isExcluded ? '' : (config?.getGlobalPrefix() ?? '').replace(/^\/+|\/+$/g, '');
}
