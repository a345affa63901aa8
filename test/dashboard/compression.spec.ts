import { describe, expect, it } from '@jest/globals';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { gunzipSync } from 'node:zlib';
import { PLATFORMS, useServedApps } from './dashboard-app.js';
import { ask } from './http.js';

describe.each(PLATFORMS)('the files of the page on %s', (platform) => {
  const apps = useServedApps();

  async function serve(isVaried = false) {
    const { base } = await apps.serve(
      platform,
      { imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot()] },
      (app) => {
        if (isVaried) app.enableCors({ origin: ['http://one.example', 'http://other.example'] });
      },
    );
    const get = (path: string, encoding?: string) =>
      ask(base, path, encoding === undefined ? {} : { headers: { 'accept-encoding': encoding } });
    const [, script = ''] = /src="\.(\/assets\/[^"]+\.js)"/.exec((await get('/')).text) ?? [];
    return { get, script };
  }

  it('are compressed for who takes gzip, and the same bytes for all', async () => {
    const { get, script } = await serve();
    for (const path of ['/', script]) {
      const plain = await get(path);
      expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
      for (const encoding of ['gzip', 'br, gzip;q=0.5', 'GZIP ; q=1', '*']) {
        const { headers, bytes } = await get(path, encoding);
        expect([encoding, headers['content-encoding'], headers.vary]).toEqual([
          encoding,
          'gzip',
          'Accept-Encoding',
        ]);
        expect(headers['content-length']).toBe(String(bytes.length));
        expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
      }
      for (const encoding of ['', 'identity', 'br', 'gzip;q=0', '*;q=0', 'gzip;q=0, *', 'xgzip']) {
        const { headers, bytes } = await get(path, encoding);
        expect([encoding, headers['content-encoding'], headers.vary]).toEqual([
          encoding,
          undefined,
          'Accept-Encoding',
        ]);
        expect(bytes.equals(plain.bytes)).toBe(true);
      }
    }
  });

  it('are less than half as long when they are compressed', async () => {
    const { get, script } = await serve();
    const [plain, zipped] = [await get(script), await get(script, 'gzip')];
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(zipped.headers['cache-control']).toBe(plain.headers['cache-control']);
  });

  it('leave the answers of the API as they are', async () => {
    const { get } = await serve();
    expect((await get('/api/session', 'gzip')).headers['content-encoding']).toBeUndefined();
  });

  // Fastify has them in its own reply, which a raw response leaves out.
  if (platform === 'express')
    it('vary by what the app says, too', async () => {
      const { get, script } = await serve(true);
      expect((await get(script, 'gzip')).headers.vary).toMatch(/^Origin, Accept-Encoding$/);
    });
});
