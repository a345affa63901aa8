import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  UsePipes,
  ValidationPipe,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { Type as Nested } from 'class-transformer';
import { IsEmail, IsInt, ValidateNested } from 'class-validator';
import { CurrentJob, GearMonkeyClient, GearMonkeyModule, Input, RunningJob, Worker } from 'nestjs-gearmonkey';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

class Size {
  @IsInt()
  width!: number;
}

class Mail {
  @IsEmail()
  to!: string;
  @ValidateNested()
  @Nested(() => Size)
  size!: Size;
}

const GOOD = { to: 'ada@example.com', size: { width: 1 } };
const BAD = { to: 'ada', size: { width: 'x' } };
const REFUSED = 'Bad Request Exception: to must be an email; size.width must be an integer number';

/** What a handler was given: whether by pipes, and whether it can use its job. */
async function seen(input: unknown, job: RunningJob) {
  await job.update(1, 2);
  return [
    input instanceof Mail,
    (input as Mail).size instanceof Size,
    job.constructor.name,
    job.signal.aborted,
  ];
}
const AS_MAIL = [true, true, 'RunningJob', false];

const transform = { transform: true };
/** By which the RunningJob, too, comes through the pipes that are not its own. */
const custom = { transform: true, validateCustomDecorators: true };

@Injectable()
class OnMethods {
  @Worker('undecorated')
  @UsePipes(new ValidationPipe(transform))
  undecorated(input: Mail, job: RunningJob) {
    return seen(input, job);
  }

  @Worker('decorated')
  @UsePipes(new ValidationPipe(custom))
  decorated(@CurrentJob() job: RunningJob, @Input() input: Mail) {
    return seen(input, job);
  }

  @Worker('parameter')
  parameter(@Input(new ValidationPipe(transform)) input: Mail, @CurrentJob() job: RunningJob) {
    return seen(input, job);
  }

  @Worker('generator')
  @UsePipes(new ValidationPipe(custom))
  async *generator(input: Mail, job: RunningJob) {
    yield* [];
    return await seen(input, job);
  }
}

@Injectable()
@UsePipes(new ValidationPipe(custom))
class OnClass {
  @Worker('class')
  run(input: Mail, job: RunningJob) {
    return seen(input, job);
  }
}

@Injectable()
class Plain {
  @Worker('plain')
  run(input: Mail, job: RunningJob) {
    return seen(input, job);
  }
}

const used = useRedis();

describe.each([
  ['memory', () => 'memory:'],
  ['Redis', () => used.url],
])('ValidationPipe before a handler, on %s', (_, connection) => {
  const apps = useApps();
  async function start(providers: (Type | object)[], globalEnhancers = false): Promise<GearMonkeyClient> {
    const imports = [GearMonkeyModule.forRoot({ connection: connection(), globalEnhancers })];
    return (await apps.start({ imports, providers: providers as Type[] })).get(GearMonkeyClient);
  }
  const call = (client: GearMonkeyClient, fn: string, input: unknown) =>
    client.call(fn, input, { timeout: '30s' });

  it.each(['undecorated', 'decorated', 'parameter', 'generator'])(
    'gives the handler an instance, and reports what is wrong with an input: %s',
    async (fn) => {
      const client = await start([OnMethods]);
      await expect(call(client, fn, GOOD)).resolves.toEqual(AS_MAIL);
      await expect(call(client, fn, BAD)).rejects.toMatchObject({
        error: { name: 'BadRequestException', message: REFUSED },
      });
    },
  );

  it('applies to all handlers of a class', async () => {
    const client = await start([OnClass]);
    await expect(call(client, 'class', GOOD)).resolves.toEqual(AS_MAIL);
    await expect(call(client, 'class', BAD)).rejects.toThrow(REFUSED);
  });

  it('applies globally only with globalEnhancers', async () => {
    const providers = [Plain, { provide: APP_PIPE, useValue: new ValidationPipe(custom) }];
    const global = await start(providers, true);
    await expect(call(global, 'plain', GOOD)).resolves.toEqual(AS_MAIL);
    await expect(call(global, 'plain', BAD)).rejects.toThrow(REFUSED);
  });
});

describe('a pipe before a handler', () => {
  const apps = useApps();
  const start = async (...providers: Type[]) => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    return (await apps.start({ imports, providers })).get(GearMonkeyClient);
  };

  it('gets an input as a body, with its type and property', async () => {
    const metadata: unknown[] = [];
    class Spy implements PipeTransform {
      transform(value: unknown, { type, data, metatype }: Parameters<PipeTransform['transform']>[1]) {
        metadata.push({ type, data, metatype });
        return value;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('whole')
      @UsePipes(Spy)
      whole(_input: Mail) {}
      @Worker('property')
      @UsePipes(Spy)
      property(@Input('size') _size: Size) {}
    }
    const client = await start(Handlers);
    await client.call('whole', GOOD);
    await client.call('property', GOOD);
    expect(metadata).toEqual([
      { type: 'body', data: undefined, metatype: Mail },
      { type: 'body', data: 'size', metatype: Size },
    ]);
  });

  it('gets the running job only if its own decorator names the pipe', async () => {
    const values: unknown[] = [];
    class Spy implements PipeTransform {
      transform(value: unknown) {
        values.push(value instanceof RunningJob ? 'job' : value);
        return value;
      }
    }
    const Job = createParamDecorator((_: unknown, context: ExecutionContext) =>
      context.getArgByIndex<RunningJob>(1),
    );
    @Injectable()
    class Handlers {
      @Worker('all')
      @UsePipes(Spy)
      all(@Job() _job: unknown, @CurrentJob() _same: RunningJob, @Input() _input: string) {}
      @Worker('own')
      own(@CurrentJob(Spy) job: RunningJob) {
        return job.id;
      }
    }
    const client = await start(Handlers);
    await client.call('all', 'input');
    expect(values).toEqual(['input']);
    await expect(client.call('own', 'input')).resolves.toBe('1');
    expect(values).toEqual(['input', 'job']);
  });

  it('reports errors of validation groups too', async () => {
    @Injectable()
    class Handlers {
      @Worker('grouped')
      @UsePipes(new ValidationPipe({ errorFormat: 'grouped' }))
      grouped(_input: Mail) {}
    }
    const client = await start(Handlers);
    await expect(client.call('grouped', BAD)).rejects.toThrow('"to":["to must be an email"]');
  });
});
