import { describe, expect, it } from '@jest/globals';
import { deserialize, serialize } from 'node:v8';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, Worker, defineJob } from 'nestjs-gearmonkey';
import {
  GearMonkeyTestClient,
  JobTestingError,
  gearMonkeyMatchers,
  type GearMonkeyMatchers,
} from 'nestjs-gearmonkey/testing';
import { SERVERS, useTesting } from './use-testing.js';

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>> extends GearMonkeyMatchers<R> {}
}
expect.extend(gearMonkeyMatchers);

interface Mail {
  to: string;
  copies?: number;
  options?: { urgent: boolean; tags: string[] };
}
const mail = defineJob<Mail, string>('mail');
const order = defineJob<{ lines: { sku: string; count: number }[]; at: Date }>('order', { codec: 'msgpack' });
const packed = defineJob<{ at: Date }>('packed', { codec: 'msgpack' });
const cloned = defineJob<Record<string, unknown>>('cloned', {
  codec: { name: 'clone', encode: (value) => serialize(value), decode: (bytes) => deserialize(bytes) },
});
const resize = defineJob<{ width: number }>('resize');

@Injectable()
class Shop {
  constructor(private readonly jobs: GearMonkeyClient) {}

  async buy(to: string): Promise<void> {
    await this.jobs.run(mail, { to, options: { urgent: true, tags: ['a', 'b'] } }, { delay: '1h' });
  }
}

/** What an assertion says when it fails. */
function failure(assertion: () => unknown): string {
  try {
    assertion();
  } catch (error) {
    return (error as Error).message;
  }
  return 'it passed';
}

describe.each(SERVERS)('What was enqueued, in %s', (server) => {
  const testing = useTesting(server);

  it('is known at once, with what a handler will read and when it may run', async () => {
    const module = await testing.start({ providers: [Shop] }, { now: new Date('2027-01-01T10:00:00Z') });
    const jobs = module.get(GearMonkeyTestClient);
    await module.get(Shop).buy('ada@example.com');
    await jobs.run('plain', [1, undefined], { priority: 'high' });
    expect(jobs.test.enqueued(mail)).toMatchObject([
      {
        fn: 'mail',
        id: '1',
        input: { to: 'ada@example.com', options: { urgent: true, tags: ['a', 'b'] } },
        priority: 'scheduled',
        created: new Date('2027-01-01T10:00:00Z'),
        scheduled: new Date('2027-01-01T11:00:00Z'),
      },
    ]);
    // It went through JSON, which has no undefined.
    expect(jobs.test.enqueued('plain')).toMatchObject([{ input: [1, null], priority: 'high' }]);
    expect(jobs.test.enqueued().map(({ fn }) => fn)).toEqual(['mail', 'plain']);
    expect('scheduled' in (jobs.test.enqueued('plain')[0] ?? {})).toBe(false);
  });

  it('is matched by some properties of the input, at any depth, and by matchers of the test runner', async () => {
    const jobs = await testing.jobs({});
    await jobs.run(mail, { to: 'ada', options: { urgent: true, tags: ['a', 'b'] } });
    await jobs.run(mail, { to: 'bob', copies: 2 });
    const found = (input: object) => jobs.test.enqueued(mail, { input }).map(({ id }) => id);
    expect(found({ to: 'ada' })).toEqual(['1']);
    expect(found({ options: { urgent: true } })).toEqual(['1']);
    expect(found({ options: { tags: ['a'] } })).toEqual([]);
    expect(found({ options: { tags: ['a', expect.any(String)] } })).toEqual(['1']);
    expect(found({ to: expect.stringMatching(/^[ab]/) })).toEqual(['1', '2']);
    expect(found({ copies: undefined })).toEqual(['1']);
    expect(jobs.test.enqueued(mail, { id: '2' })).toHaveLength(1);
  });

  it('has a matcher, which takes a second more or less', async () => {
    const jobs = await testing.jobs({});
    await jobs.run(mail, { to: 'ada' }, { delay: '1h' });
    await jobs.run(mail, { to: 'bob' }, { scheduled: new Date(jobs.test.now.getTime() + 60_900) });
    await jobs.run(mail, { to: 'eve' }, { priority: 'high' });
    expect(jobs).toHaveEnqueued(mail);
    expect(jobs).toHaveEnqueued(mail, { input: { to: 'ada' }, in: '1h', priority: 'scheduled' });
    expect(jobs.test).toHaveEnqueued(mail, { input: { to: 'bob' }, in: '1m' });
    expect(jobs).toHaveEnqueued(mail, { input: { to: 'eve' }, in: 0, priority: 'high' });
    expect(jobs).not.toHaveEnqueued(mail, { input: { to: 'ada' }, in: '59m' });
    expect(jobs).not.toHaveEnqueued(mail, { scheduled: new Date(0) });
    expect(jobs).not.toHaveEnqueued(resize, { input: { width: 1 } });
    jobs.test.assert('mail', { input: { to: 'ada' } });
    jobs.test.refute(resize);
  });

  it('says what was enqueued instead, and in what it differs', async () => {
    const jobs = await testing.jobs({});
    const missing = () =>
      expect(jobs).toHaveEnqueued(mail, { input: { to: 'ada' }, in: '1h', priority: 'low' });
    expect(failure(missing)).toBe(
      `No job of "mail" was enqueued with { input: { to: 'ada' }, in: '1h', priority: 'low' }. Nothing was enqueued at all.`,
    );
    await jobs.run(resize, { width: 3 });
    expect(failure(missing)).toBe(
      [
        `No job of "mail" was enqueued with { input: { to: 'ada' }, in: '1h', priority: 'low' }.`,
        'Jobs of other functions were:',
        `  resize 1: { width: 3 }, priority 'normal', runs at once`,
      ].join('\n'),
    );
    await jobs.run(mail, { to: 'bob' });
    await jobs.run(mail, { to: 'ada' }, { delay: '30m' });
    expect(failure(missing)).toBe(
      [
        `No job of "mail" was enqueued with { input: { to: 'ada' }, in: '1h', priority: 'low' }.`,
        'These were:',
        `  mail 1: { to: 'bob' }, priority 'normal', runs at once`,
        `      input.to is 'bob' instead of 'ada'`,
        `      it runs at once instead of in '1h'`,
        `      priority is 'normal' instead of 'low'`,
        `  mail 2: { to: 'ada' }, priority 'scheduled', runs in 1800 s`,
        `      it runs in 1800 s instead of in '1h'`,
        `      priority is 'scheduled' instead of 'low'`,
      ].join('\n'),
    );
    expect(failure(() => jobs.test.assert(resize, { input: { width: 4 } }))).toContain(
      'input.width is 3 instead of 4',
    );
    const present = [
      `A job of "mail" was enqueued with { input: { to: 'bob' } }, and none was expected:`,
      `  mail 1: { to: 'bob' }, priority 'normal', runs at once`,
    ].join('\n');
    expect(failure(() => expect(jobs).not.toHaveEnqueued(mail, { input: { to: 'bob' } }))).toBe(present);
    expect(failure(() => jobs.test.refute(mail, { input: { to: 'bob' } }))).toBe(present);
  });

  it('takes a line for each job and each difference, whatever is in it', async () => {
    const jobs = await testing.jobs({});
    const list = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    await jobs.run('big', { list, deep: { a: { b: { c: { d: 1 } } } }, text: 'a\nb' });
    const expected = { input: { list: [expect.any(String)], deep: expect.objectContaining({ a: 1 }) } };
    expect(failure(() => jobs.test.assert('big', expected))).toBe(
      [
        'No job of "big" was enqueued with { input: { list: [ Any<String> ], deep: ObjectContaining { a: 1 } } }.',
        'These were:',
        `  big 1: { list: [ 1, 2, 3, 4, 5, 6, 7, 8, 9 ], deep: { a: { b: { c: { d: 1 } } } }, text: 'a\\nb' }, priority 'normal', runs at once`,
        '      input.list is [ 1, 2, 3, 4, 5, 6, 7, 8, 9 ] instead of [ Any<String> ]',
        '      input.deep is { a: { b: { c: { d: 1 } } } } instead of ObjectContaining { a: 1 }',
      ].join('\n'),
    );
  });

  it('is read by the codec it was enqueued with, whatever the test asks for', async () => {
    const jobs = await testing.jobs({});
    await jobs.run(packed, { at: new Date(5) });
    await jobs.runMany(packed, [{ at: new Date(6) }]);
    expect(jobs.test.enqueued().map(({ input }) => input)).toEqual(
      [5, 6].map((time) => ({ at: new Date(time) })),
    );
    expect(jobs.test.enqueued('packed', { input: { at: new Date(6) } })).toHaveLength(1);
    expect(failure(() => jobs.test.assert(mail))).toContain('packed 1: { at: 1970-01-01T00:00:00.005Z }');
  });

  it('is compared with what codecs keep: values with a class, Maps, cycles, big numbers', async () => {
    const jobs = await testing.jobs({});
    class Money {
      constructor(readonly amount: number) {}
    }
    await jobs.run('price', { price: new Money(5) });
    jobs.test.assert('price', { input: { price: new Money(5) } });
    jobs.test.refute('price', { input: { price: new Money(6) } });
    const cycle = (k: number) => {
      const made: Record<string, unknown> = { map: new Map([['k', k]]), big: 5n, at: new Date(k), list: [] };
      (made['list'] as unknown[]).push(made);
      return made;
    };
    await jobs.run(cloned, cycle(1));
    jobs.test.assert(cloned, { input: cycle(1) });
    jobs.test.assert(cloned, { input: { map: new Map([['k', 1]]), big: 5n } });
    expect(failure(() => jobs.test.assert(cloned, { input: cycle(2) }))).toContain(
      "input.map is Map(1) { 'k' => 1 }",
    );
    jobs.test.refute(cloned, { input: { at: new Date(2) } });
    const [set, bytes] = [new Set([{ a: 1 }]), Buffer.from('a')];
    await jobs.run(cloned, { set, bytes });
    jobs.test.assert(cloned, { input: { set: new Set([{ a: 1 }]), bytes: Buffer.from('a') } });
    jobs.test.refute(cloned, { input: { set: new Set([{ a: 2 }]) } });
    jobs.test.refute(cloned, { input: { set: new Set() } });
    jobs.test.refute(cloned, { input: { bytes: Buffer.from('b') } });
  });

  it('names ten jobs at most', async () => {
    const jobs = await testing.jobs({});
    await jobs.runMany(
      resize,
      Array.from({ length: 12 }, (_, width) => ({ width })),
    );
    const lines = failure(() => expect(jobs).toHaveEnqueued(mail)).split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([13, '  and 2 more']);
  });

  it('is forgotten by clear, and does not run any more', async () => {
    const ran: unknown[] = [];
    @Injectable()
    class Handlers {
      @Worker(resize)
      resize(input: { width: number }) {
        ran.push(input);
      }
    }
    const jobs = await testing.jobs({ providers: [Handlers] });
    await jobs.run(resize, { width: 1 });
    await jobs.run(resize, { width: 2 }, { delay: '1h' });
    jobs.test.failNext(resize, new Error('no'));
    await jobs.test.clear();
    expect(jobs).not.toHaveEnqueued(resize);
    await jobs.run(resize, { width: 3 });
    await expect(jobs.test.advance('2h')).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    expect(ran).toEqual([{ width: 3 }]);
  });

  it('is asked of the client of a test, with options that exist', async () => {
    const jobs = await testing.jobs({});
    expect(() => expect({}).toHaveEnqueued(mail)).toThrow(JobTestingError);
    expect(() => jobs.test.enqueued(mail, { to: 'ada' } as object)).toThrow('has no option `to`');
    expect(() => jobs.test.enqueued(mail, { in: 'soon' })).toThrow('Expected `in`');
    expect(() => expect(jobs).toHaveEnqueued('no name')).toThrow("can't be a function name");
  });

  it('knows the types of a definition', async () => {
    const { test } = await testing.jobs({});
    // @ts-expect-error copies is a number
    test.enqueued(mail, { input: { copies: '1' } });
    // @ts-expect-error urgent is a boolean
    test.enqueued(mail, { input: { options: { urgent: 1 } } });
    // @ts-expect-error there is no copy
    test.enqueued(mail, { input: { copy: 1 } });
    test.enqueued(mail, { input: { to: expect.any(String), options: expect.objectContaining({}) } });
    test.enqueued(mail, { input: expect.anything() });
    test.enqueued(order, { input: { lines: [{ sku: 'a' }, expect.anything()], at: new Date() } });
    const found: { input: Mail }[] = test.enqueued(mail);
    expect(found).toEqual([]);
  });
});
