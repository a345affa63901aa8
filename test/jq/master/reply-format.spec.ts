import { describe, expect, it } from '@jest/globals';
import { formatOfReply } from '../../../lib/jq/master/message.adapter.js';

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

  it('reads no header that is longer than any client needs, since thousands of ranges take long to parse', () => {
    const accept = `application/json${', a/b'.repeat(200)}`;
    expect(formatOfReply({ headers: { accept } })).toBe('json');
    expect(formatOfReply({ headers: { accept: `${accept}${', a/b'.repeat(10)}` } })).toBe('msgpack');
  });
});
