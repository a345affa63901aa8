import { afterEach } from '@jest/globals';
import {
  Module,
  type INestApplication,
  type ModuleMetadata,
  type NestApplicationOptions,
} from '@nestjs/common';
import { NestFactory, type AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { DashboardUrl } from '../../lib/dashboard/dashboard-url.js';
import { furtherInFullTier } from '../support/tier.js';
import { openWithToken } from './http.js';

export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];
/** For facts that do not depend on the platform: `npm test` has them on one. */
export const ANY_PLATFORM: readonly Platform[] = furtherInFullTier(['express'], ['fastify']);

export interface Served {
  readonly app: INestApplication;
  /** The address of the dashboard at /jobs, without a slash at the end. */
  readonly base: string;
}

function adapterOf(platform: Platform | AbstractHttpAdapter): AbstractHttpAdapter {
  if (typeof platform !== 'string') return platform;
  return platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** Apps that listen on a port of this machine, opened with their token if they have one; closed after each test. */
export function useServedApps() {
  const apps: INestApplication[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  async function create(
    platform: Platform | AbstractHttpAdapter,
    metadata: ModuleMetadata,
    options: NestApplicationOptions = {},
  ): Promise<INestApplication> {
    @Module(metadata)
    class App {}
    const app = await NestFactory.create(App, adapterOf(platform), {
      logger: false,
      abortOnError: false,
      ...options,
    });
    apps.push(app);
    return app;
  }

  return {
    create,
    async serve(
      platform: Platform,
      metadata: ModuleMetadata,
      configure: (app: INestApplication) => void | Promise<void> = () => undefined,
    ): Promise<Served> {
      const app = await create(platform, metadata);
      await configure(app);
      await app.listen(0, '127.0.0.1');
      const { port } = app.getHttpServer().address() as AddressInfo;
      const { url } = app.get(DashboardUrl, { strict: false });
      if (url !== undefined) await openWithToken(url);
      return { app, base: `http://127.0.0.1:${port}/jobs` };
    },
  };
}
