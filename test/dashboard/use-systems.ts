import { afterEach } from '@jest/globals';
import { Injectable, type DynamicModule } from '@nestjs/common';
import { GearMonkeyModule, UnrecoverableError, Worker, type JobSource } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import { jobd, JobdClient, JobdModule } from 'nestjs-gearmonkey/jobd';
import { jq, JqClient, JqModule } from 'nestjs-gearmonkey/jq';
import { qless, QlessClient, QlessModule } from 'nestjs-gearmonkey/qless';
import type { InstanceView } from '../../lib/dashboard/api.js';
import { useMaster } from '../jq/master/use-master.js';
import { gate } from '../support/gate.js';
import { sqliteFile, type JobRows } from '../support/job-rows.js';
import { useJobTables } from '../support/use-job-tables.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps, type Served } from './dashboard-app.js';

const FAILURE = 'no disk p4111';
export const SYSTEMS = ['qless', 'jq', 'jobd'] as const;
export type SystemName = (typeof SYSTEMS)[number];

/** Where a job and its failure are found in the tables of a system, and what is there when it has ended. */
export const JOBS = {
  qless: { jobs: 'tracked', key: 'jid', state: 'state', failed: 'failures', ends: ['failed', 'complete'] },
  jq: { jobs: 'jobs', key: 'id', state: 'status', failed: 'names', ends: ['error', 'done'] },
  jobd: { jobs: 'rows', key: 'id', state: 'result', failed: 'failed', ends: ['fail', 'ok'] },
} as const;

/** The input of a job that fails until `mend`. Rows of jobd have no input of their own. */
export const FAILING = { qless: { fails: 1 }, jq: { fails: 1 }, jobd: { sig: 'fails' } } as const;

/** The message of a job that fails: a text in its input. */
function failureOf(input: unknown): string {
  const { fails } = input as { fails?: unknown };
  return typeof fails === 'string' ? fails : FAILURE;
}

interface System {
  readonly source: JobSource;
  readonly module: DynamicModule;
  readonly enqueue: (app: Served['app']) => Promise<unknown>;
  readonly views: readonly string[];
  readonly verbs: readonly string[];
  readonly run: NonNullable<InstanceView['run']>;
  /** Of jobd. */
  readonly table?: JobRows;
}

/** Apps with a dashboard and handlers of another system. Handlers of jobs that do not fail wait until the test ends. */
export function useSystems() {
  // Before the apps close, which wait for their handlers.
  const gates: { open(): void }[] = [];
  afterEach(() => gates.splice(0).forEach((held) => held.open()));
  const redis = useRedis();
  const master = useMaster();
  const tables = useJobTables(sqliteFile);
  const apps = useServedApps();

  const systems = {
    qless: async (fn: string): Promise<System> => ({
      source: qless({ connection: redis.url, queues: [fn] }),
      module: QlessModule.forRoot({ connection: redis.url }),
      enqueue: (app) =>
        app
          .get(QlessClient)
          .queue(fn)
          .put(fn, {}, { tags: [`<b>${fn}</b>`] }),
      views: ['queues', 'failures', 'tracked', 'recurring', 'tags', 'workers'],
      verbs: ['run', 'retry', 'cancel', 'discard', 'pause', 'resume'],
      run: { fn: 'queue', input: 'data', kind: 'klass' },
    }),
    jq: async (fn: string): Promise<System> => ({
      source: jq({ master: master.url }),
      module: JqModule.forRoot({ master: master.url }),
      enqueue: (app) => app.get(JqClient).enqueue(fn, {}),
      views: ['names', 'jobs', 'failed', 'workers', 'constraints'],
      verbs: ['run', 'retry', 'cancel', 'discard'],
      run: { fn: 'name', input: 'argument' },
    }),
    jobd: async (fn: string): Promise<System> => {
      const rows = await tables.table();
      const { url: database, table } = rows;
      return {
        table: rows,
        source: jobd({ database, table, targets: [fn], pollInterval: 100 }),
        module: JobdModule.forRoot({ database, table }),
        enqueue: (app) => app.get(JobdClient).add(fn),
        views: ['targets', 'rows', 'failed', 'daemons'],
        verbs: ['run', 'retry', 'cancel'],
        run: { fn: 'target', input: 'columns' },
      };
    },
  };
  async function serve(name: SystemName, options: DashboardModuleOptions = {}) {
    const fn = redis.fn(name);
    const system = await systems[name](fn);
    const held = gate();
    gates.push(held);
    let begun = 0;
    let isBroken = true;

    @Injectable()
    class Handlers {
      @Worker(fn)
      async work(input: unknown) {
        begun += 1;
        if (isBroken && JSON.stringify(input).includes('fails'))
          throw new UnrecoverableError(failureOf(input));
        await held.passed;
        return {};
      }
    }

    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ source: system.source }),
        system.module,
        DashboardModule.forRoot(options),
      ],
      providers: [Handlers],
    });
    return {
      ...{ ...system, fn, app, base },
      runs: () => begun,
      mend: () => {
        isBroken = false;
        held.open();
      },
      enqueue: () => system.enqueue(app),
    };
  }

  return { serve, redis, master };
}
