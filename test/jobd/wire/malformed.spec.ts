import { describe, expect, it } from '@jest/globals';
import { RawClient } from './raw-client.js';
import { useWorker } from './use-worker.js';

/** What is sent, and the `error` of the reply; without one nothing is replied. */
const CONVERSATIONS: readonly (readonly [sent: string, error: string | undefined])[] = [
  ['not JSON', undefined],
  ['', undefined],
  ['[0,{"no":1,"type":"poll"}', undefined],
  ['{"a":1}', 'JSON array expected, got: [object Object]'],
  ['"str"', 'JSON array expected, got: str'],
  ['null', 'JSON array expected, got: null'],
  ['5', 'JSON array expected, got: 5'],
  ['true', 'JSON array expected, got: true'],
  ['[]', 'unexpected type undefined'],
  ['[7]', 'unexpected type 7'],
  ['["0"]', 'unexpected type 0'],
  ['[null]', 'unexpected type null'],
  ['[{"toString":1}]', 'unexpected type [object Object]'],
  ['[0]', 'malformed REQUEST message: data is not an object'],
  ['[0,null]', 'malformed REQUEST message: data is not an object'],
  ['[0,"poll"]', 'malformed REQUEST message: data is not an object'],
  ['[0,{}]', 'malformed REQUEST message: missing required field type'],
  ['[0,[]]', 'malformed REQUEST message: missing required field type'],
  ['[0,{"type":"poll"}]', 'malformed REQUEST message: missing required field no'],
  ['[0,{"type":"poll","no":"1"}]', "malformed REQUEST message: 'no' must be integer"],
  ['[0,{"type":"poll","no":1.5}]', "malformed REQUEST message: 'no' must be integer"],
  ['[0,{"type":"poll","no":null}]', "malformed REQUEST message: 'no' must be integer"],
  ['[0,{"type":5,"no":1}]', "malformed REQUEST message: 'type' must be string"],
  ['[0,{"type":"poll","no":1,"password":7}]', "malformed REQUEST message: 'password' must be string"],
  [
    '[0,{"type":"poll","no":1,"data":true}]',
    "malformed REQUEST message: 'data' must be any of: string, number, object, array",
  ],
  ['[1]', 'malformed RESPONSE message: data is not an object'],
  ['[1,{}]', 'malformed RESPONSE message: missing required field no'],
  ['[1,{"no":1,"error":5}]', "malformed RESPONSE message: 'error' must be string"],
  [
    '[1,{"no":1,"data":true}]',
    "malformed RESPONSE message: 'data' must be any of: string, number, object, array",
  ],
  ['[1,{"no":1,"data":null}]', undefined],
  ['[1,{"no":1,"data":"ok"}]', undefined],
  ['[3]', undefined],
];

describe('malformed messages', () => {
  const worker = useWorker();

  it.each(CONVERSATIONS)('%s', async (sent, error) => {
    const client = await worker.client();
    const replies = error === undefined ? [] : [`[1,{"no":0,"error":${JSON.stringify(error)}}]`];
    await expect(client.answers(sent)).resolves.toEqual(replies);
  });

  it('are answered in order on one connection, which stays open', async () => {
    const client = await worker.client();
    const replies = CONVERSATIONS.flatMap(([, error]) =>
      error === undefined ? [] : [`[1,{"no":0,"error":${JSON.stringify(error)}}]`],
    );
    await expect(client.answers(...CONVERSATIONS.map(([sent]) => sent))).resolves.toEqual(replies);
    await expect(client.answers('[0,{"no":1,"type":"poll"}]')).resolves.toEqual(['[1,{"no":1,"data":"ok"}]']);
  });

  it('that are nested too deeply cost little, and the error shows only a short part', async () => {
    const client = await worker.client();
    const depth = 400_000;
    await expect(client.answers(`[${'['.repeat(depth)}${']'.repeat(depth)}]`)).resolves.toEqual([
      '[1,{"no":0,"error":"unexpected type [object Array]"}]',
    ]);
    const [reply = ''] = await client.answers(`"${'x'.repeat(100_000)}"`);
    expect(reply.length).toBeLessThan(1200);
  });
});

describe('a request of a web page', () => {
  const worker = useWorker();
  const PAUSE = '\x04[0,{"no":1,"type":"pause","data":{"targets":["low"]}}]\x04';
  const HEAD = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n';

  it.each([
    ['HTTP', HEAD],
    ['HTTP whose first byte comes alone', 'P'],
    ['TLS', '\x16\x03\x01'],
  ])('does nothing, and its connection is closed: %s', async (_, head) => {
    const client = await RawClient.connect(worker.port);
    client.write(head + PAUSE);
    await client.ended();
    expect(client.received).toEqual([]);
    const other = await worker.client();
    const [status = ''] = await other.ask('[0,{"no":2,"type":"status"}]');
    expect(status).toContain('"paused":false');
    expect(status).not.toContain('"paused":true');
  });
});

describe('a message without an end', () => {
  const SENT_MEBIBYTES = 64;
  const worker = useWorker({ options: { auth: { password: 'secret' } } });

  it('costs only its reading: it is refused, others are served meanwhile, and the connection stays', async () => {
    const [client, other] = [await worker.client(), await worker.client()];
    const mebibyte = Buffer.alloc(1 << 20, 'x');
    const before = process.memoryUsage().rss;
    const cpu = process.cpuUsage();
    for (let sent = 0; sent < SENT_MEBIBYTES; sent++) {
      client.write(mebibyte);
      if (sent % 16 === 0) await expect(other.answers()).resolves.toEqual([]);
    }
    await expect(client.take()).resolves.toEqual([
      '[1,{"no":0,"error":"message is too large, more than 65536 bytes"}]',
    ]);
    client.write('\x04');
    await expect(client.answers()).resolves.toEqual([]);
    // Sending is in this process too: with both, a second or so; the original takes twenty and more.
    expect(process.cpuUsage(cpu).user / 1e6).toBeLessThan(5);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 2 ** 20);
  });

  it('leaves nothing behind when its sender disconnects', async () => {
    const client = await RawClient.connect(worker.port);
    client.write(Buffer.alloc(1 << 19, 'x'));
    client.close();
    const other = await worker.client();
    await expect(other.answers()).resolves.toEqual([]);
  });
});
