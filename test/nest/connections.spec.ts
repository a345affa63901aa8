import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { EmbeddedSource } from '../embedded/embedded-store.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

/** Counts how often it was closed. */
class CountedSource extends EmbeddedSource {
  closed = 0;

  override async close(): Promise<void> {
    this.closed += 1;
    await super.close();
  }
}

describe('The source of an instance', () => {
  const apps = useApps();
  const sourceOf = () => new CountedSource();

  it('is closed with its app, also without handlers', async () => {
    const source = sourceOf();
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ source })] });
    await app.close();
    expect(source.closed).toBe(1);
  });

  it('is closed if its app does not start', async () => {
    const source = sourceOf();
    const imports = [
      GearMonkeyModule.forRoot({ source }),
      GearMonkeyModule.forRoot({ name: 'wrong', connection: 'memory:', workers: ['nothing'] }),
    ];
    const app = await apps.create({ imports });
    await expect(app.init()).rejects.toThrow('"nothing"');
    expect(source.closed).toBe(1);
  });
});

describe("durability: 'wait'", () => {
  const apps = useApps();
  const used = useRedis();

  it('refuses a job that no replica has', async () => {
    const { url: connection } = used;
    const options = { connection, durability: 'wait', enqueueTimeout: 1000 } as const;
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot(options)] });
    await expect(app.get(GearMonkeyClient).run(used.fn(), null)).rejects.toMatchObject({
      code: 'NOT_DURABLE',
      ids: ['1'],
    });
  });
});
