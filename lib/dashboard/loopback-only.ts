import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:http';
import { DashboardOpenError } from './dashboard-errors.js';
import { DASHBOARD, type CheckedDashboard } from './dashboard.options.js';
import { isLoopback } from './request-facts.js';

/** Without `auth`, has `app.listen` fail on an address that others can reach. */
@Injectable()
export class LoopbackOnly implements OnApplicationBootstrap {
  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(HttpAdapterHost) private readonly adapters: HttpAdapterHost,
  ) {}

  onApplicationBootstrap(): void {
    const server: Server | undefined = this.adapters.httpAdapter?.getHttpServer();
    if (this.options.auth || !server) return;
    server.prependListener('listening', () => {
      const address = server.address();
      // By a socket in the file system, all requests are refused: LocalAccess.
      if (address === null || typeof address === 'string' || isLoopback(address.address)) return;
      // Before any connection is accepted, but after the other listeners, which read the address.
      process.nextTick(() => server.close());
      server.emit('error', new DashboardOpenError(`the app listens on ${address.address}`));
    });
  }
}
