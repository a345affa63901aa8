import { afterEach, expect } from '@jest/globals';
import { Module, type INestApplicationContext, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

export interface UsedApps {
  /** An app of this root module, initialised. Rejects where Nest would end the process. */
  start(metadata: ModuleMetadata): Promise<INestApplicationContext>;
  /** The same, whose `init()` the test calls. */
  create(metadata: ModuleMetadata): Promise<INestApplicationContext>;
}

/** Nest apps of a `describe`, closed after each of its tests. */
export function useApps(): UsedApps {
  const apps: INestApplicationContext[] = [];
  const illegal: string[] = [];
  const silent = () => undefined;
  /** Says nothing, and keeps what must never be logged: what a worker's states do not allow. */
  const logger = {
    log: silent,
    error: silent,
    warn: (line: unknown) => {
      if (String(line).includes('is illegal in the state')) illegal.push(String(line));
    },
  };

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    expect(illegal.splice(0)).toEqual([]);
  });

  async function create(metadata: ModuleMetadata): Promise<INestApplicationContext> {
    const app = await NestFactory.create(rootModule(metadata), { logger, abortOnError: false });
    apps.push(app);
    return app;
  }

  return {
    create,
    start: async (metadata) => {
      const app = await create(metadata);
      await app.init();
      return app;
    },
  };
}

function rootModule(metadata: ModuleMetadata) {
  @Module(metadata)
  class App {}
  return App;
}
