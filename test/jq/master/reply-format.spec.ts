import { describe, expect, it } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import { formatOfReply } from '../../../lib/jq/master/reply-format.js';
import { onThisMachine } from '../../support/machine.js';

const JSON_BODY = { 'content-type': 'application/json; charset=utf-8' };

describe('the format of a reply', () => {
  it.each([
    [undefined, 'msgpack', 'json'],
    ['', 'msgpack', 'json'],
    ['*/*', 'msgpack', 'json'],
    ['application/*', 'msgpack', 'json'],
    ['text/html, */*;q=0.8', 'msgpack', 'json'],
    ['text/html', 'msgpack', 'json'],
    ['application/json', 'json', 'json'],
    ['APPLICATION/JSON', 'json', 'json'],
    ['application/json;q=0.5, application/msgpack', 'msgpack', 'msgpack'],
    ['application/json, */*;q=0.1', 'json', 'json'],
    ['application/*;q=0.2, application/json;q=0.1', 'msgpack', 'msgpack'],
    ['application/json;q=0, */*', 'msgpack', 'msgpack'],
    ['application/x-msgpack', 'msgpack', 'msgpack'],
    ['application/vnd.msgpack, application/json;q=0.9', 'msgpack', 'msgpack'],
    [';;;,,q=q=q', 'msgpack', 'json'],
  ])('to Accept: %j is %s, or %s after a body of JSON', (accept, usual, afterJson) => {
    const headers = accept === undefined ? {} : { accept };
    expect(formatOfReply({ headers })).toBe(usual);
    expect(formatOfReply({ headers: { ...headers, ...JSON_BODY } })).toBe(afterJson);
  });

  it.each([
    ['commas', ','],
    ['ranges', 'a/b,'],
    ['ranges with weights', '*/*;q=0.5,'],
    ['parameters', 'a/b;c=d;'],
    ['quotes', 'a/b;c="'],
    ['spaces', ' '],
    ['slashes', '/'],
  ])('takes at most milliseconds to find in the longest header that Node takes, of %s', (_, part) => {
    const accept = part.repeat(Math.ceil(16_384 / part.length)).slice(0, 16_384);
    const started = performance.now();
    for (let times = 0; times < 10; times++) formatOfReply({ headers: { accept } });
    expect(performance.now() - started).toBeLessThan(onThisMachine(500));
  });
});
