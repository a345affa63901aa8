import { describe, expect, it } from '@jest/globals';
import type { ConnectionSpec } from '../../lib/redis/connect.js';
import { isHopeless, specAddress } from '../../lib/redis/trouble.js';

const SECRET = 's3cret';

describe('The address of a connection', () => {
  it.each<[ConnectionSpec, string]>([
    ['redis://app:s3cret@db.example:6380/3', 'db.example:6380'],
    [{ host: 'db.example', password: SECRET }, 'db.example:6379'],
    [{ host: 'redis://:s3cret@db.example/0?password=s3cret', port: 6380 }, 'db.example:6380'],
    [{ path: '/run/redis.sock', password: SECRET }, '/run/redis.sock'],
    [{ path: 'unix://:s3cret@/run/redis.sock?password=s3cret' }, 'unix://***@/run/redis.sock?password=***'],
    [
      { sentinels: [{ host: 'one', port: 1 }, { host: 'two' }], name: 'main', sentinelPassword: SECRET },
      '"main" of the sentinels one:1, two:6379',
    ],
    [
      { nodes: ['redis://:s3cret@one:7000', 7001, { host: 'two', port: 7002 }] },
      'the cluster of one:7000, 127.0.0.1:7001, two:7002',
    ],
  ])('has no credentials: %#', (spec, address) => {
    expect(specAddress(spec)).toBe(address);
    expect(address).not.toContain(SECRET);
  });
});

describe('An error while connecting', () => {
  const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
  const withCode = (code: string) => Object.assign(new Error('failed'), { code });

  it.each([
    reply('WRONGPASS invalid username-password pair'),
    reply('NOAUTH Authentication required.'),
    reply('ERR DB index is out of range'),
    withCode('SELF_SIGNED_CERT_IN_CHAIN'),
    withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    withCode('ERR_TLS_CERT_ALTNAME_INVALID'),
    withCode('EPROTO'),
  ])('repeats until the app or the server is changed: %p', (error) => {
    expect(isHopeless(error)).toBe(true);
  });

  it.each([
    reply('LOADING Redis is loading the dataset in memory'),
    withCode('ECONNREFUSED'),
    withCode('ENOTFOUND'),
    new Error('WRONGPASS'),
    'WRONGPASS',
    undefined,
    null,
  ])('may pass: %p', (error) => {
    expect(isHopeless(error)).toBe(false);
  });
});
