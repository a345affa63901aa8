import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Observable, map, of } from 'rxjs';
import { GearMonkeyClient, GearMonkeyModule, Worker, progress } from '../../lib/index.js';
import { gate } from '../support/gate.js';
import { useApps } from '../support/use-apps.js';

/** What a method may return: without a Promise of its own, and as one. */
const RETURNED = {
  value: () => 'out',
  generator: function* () {
    yield progress(1, 2);
    return 'out';
  },
  asyncGenerator: async function* () {
    yield progress(1, 2);
    return 'out';
  },
  Observable: () => of(progress(1, 2), 'out'),
};
type Kind = keyof typeof RETURNED;
const KINDS = Object.keys(RETURNED) as Kind[];
const FORMS = ['sync', 'promised', 'async', 'intercepted', 'guarded'];

@Injectable()
class Pass implements NestInterceptor, CanActivate {
  canActivate = () => true;
  intercept = (_: ExecutionContext, next: CallHandler) =>
    next.handle().pipe(map((output: unknown) => output));
}

@Injectable()
class Handlers {
  static begun = gate();
  static stopped = gate();

  @Worker('sync')
  sync(kind: Kind): unknown {
    return RETURNED[kind]();
  }

  @Worker('promised')
  promised(kind: Kind): unknown {
    return Promise.resolve(RETURNED[kind]());
  }

  @Worker('async')
  async async(kind: Kind): Promise<unknown> {
    await Promise.resolve();
    return RETURNED[kind]();
  }

  @Worker('intercepted')
  @UseInterceptors(new Pass())
  async intercepted(kind: Kind): Promise<unknown> {
    return RETURNED[kind]();
  }

  @Worker('guarded')
  @UseGuards(new Pass())
  async guarded(kind: Kind): Promise<unknown> {
    return RETURNED[kind]();
  }

  @Worker('endless')
  async endless(): Promise<unknown> {
    return new Observable(() => {
      Handlers.begun.open();
      return () => Handlers.stopped.open();
    });
  }
}

describe('What a decorated method returns', () => {
  const apps = useApps();
  const start = async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    return (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
  };

  it.each(FORMS)('is the output of its job, with the progress before it: %s', async (fn) => {
    const client = await start();
    for (const kind of KINDS) {
      const job = await client.run(fn, kind);
      await expect(job.result()).resolves.toBe('out');
      const { progress: last } = await job.get();
      expect([kind, last?.dividend]).toEqual([kind, kind === 'value' ? undefined : 1]);
    }
  });

  it('is unsubscribed from when the job is cancelled, also if it was promised', async () => {
    const client = await start();
    const job = await client.run('endless', null);
    await Handlers.begun.passed;
    await job.cancel();
    await Handlers.stopped.passed;
  });
});
