import { describe, expect, it } from '@jest/globals';
import { CallbackAllowlist, NOT_TO_METADATA } from '../../../lib/jq/master/callbacks/callback-allowlist.js';

describe('CallbackAllowlist', () => {
  it.each([
    '',
    ' ',
    'a b',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/x',
    '::/129',
    'http://x',
    'a:80',
    '*.',
    'a*',
    'a..b',
    '10.0.0.256',
    '10.0.0',
    '0x7f.1',
    'a.0x7f',
    '*.1',
    '2130706433',
  ])('refuses the entry %j', (entry) =>
    expect(() => new CallbackAllowlist([entry])).toThrow('no entry of a callback allowlist'),
  );

  /** URLs as workers register them: what names an address is read as the address it is. */
  const admits = (entries: string[], url: string, address?: string) => {
    const { hostname } = new URL(url);
    const list = new CallbackAllowlist(entries);
    return list.admitsHost(hostname) && (address === undefined || list.admits(hostname, address));
  };

  it.each([
    ['nothing', [], 'http://example.com', undefined],
    ['another name', ['a.com'], 'http://b.com', undefined],
    ['a name that ends alike', ['a.com'], 'http://evil-a.com', undefined],
    ['the domain of a wildcard', ['*.a.com'], 'http://a.com', undefined],
    ['a name that goes to a private address', ['a.com'], 'http://a.com', '10.0.0.1'],
    ['one that goes to this machine', ['*'], 'http://a.com', '127.0.0.1'],
    ['one that goes to the metadata of a cloud', ['*'], 'http://a.com', '169.254.169.254'],
    ['one that goes to the metadata of a cloud at a public address', ['*'], 'http://a.com', '168.63.129.16'],
    ['one that goes to nothing', ['*'], 'http://a.com', '0.0.0.0'],
    ['one of version 6 that is this machine', ['*'], 'http://a.com', '::1'],
    ['one that is mapped to version 4', ['*'], 'http://a.com', '::ffff:10.0.0.1'],
    ['one that is translated to version 4', ['*'], 'http://a.com', '64:ff9b::a00:1'],
    ['one that tunnels', ['*'], 'http://a.com', '2002:a00:1::'],
    ['one that is for documents', ['*'], 'http://a.com', '3fff:fff::1'],
    ['a local one', ['*'], 'http://a.com', 'fe80::1%eth0'],
    ['one of a private net', ['*'], 'http://a.com', 'fd00::1'],
    ['what is no address', ['*'], 'http://a.com', 'a.com'],
    ['an address as itself', ['*'], 'http://127.0.0.1', undefined],
    ['an address as a number', ['*'], 'http://2130706433', undefined],
    ['an address in hexadecimal', ['*'], 'http://0x7f.1', undefined],
    ['an address of version 6', ['*'], 'http://[::1]', undefined],
    ['a mapped address', ['*'], 'http://[::ffff:127.0.0.1]', undefined],
    ['an address out of the range', ['10.1.0.0/16'], 'http://10.2.0.1', undefined],
    ['a public address that is not listed', ['10.0.0.0/8'], 'http://a.com', '93.184.216.34'],
  ])('does not admit %s', (_, entries, url, address) => {
    expect(admits(entries, url, address)).toBe(false);
  });

  it.each([
    ['a name at a public address', ['a.com'], 'http://a.com', '93.184.216.34'],
    ['a name in other letters, with a dot at its end', ['A.com'], 'http://a.COM./x', '93.184.216.34'],
    ['a name of digits and more', ['1.a.com', '3com'], 'http://3com', '93.184.216.34'],
    ['a public address beside those for documents', ['*'], 'http://a.com', '3ffe:ffff::1'],
    ['a name below a wildcard', ['*.a.com'], 'http://x.y.a.com', '2606:4700::1'],
    ['any name', ['*'], 'http://b.org', '93.184.216.34'],
    ['a name whose private address is listed, too', ['a.com', '10.0.0.0/8'], 'http://a.com', '10.9.9.9'],
    ['any name at a listed address', ['10.0.0.0/8'], 'http://a.internal', '10.9.9.9'],
    ['a listed address', ['127.0.0.1'], 'http://127.0.0.1:8080', '127.0.0.1'],
    ['a listed range of version 6', ['fd00::/8'], 'http://[fd12::1]', 'fd12::1'],
    ['a listed address that is mapped', ['10.0.0.0/8'], 'http://[::ffff:10.0.0.1]', '::ffff:10.0.0.1'],
  ])('admits %s', (_, entries, url, address) => {
    expect(admits(entries, url, address)).toBe(true);
  });
});

describe('without a list', () => {
  const admitsHost = (url: string) => NOT_TO_METADATA.admitsHost(new URL(url).hostname);

  it.each([
    'http://169.254.169.254/latest',
    'http://169.254.0.1',
    'http://2852039166',
    'http://0xa9.0xfe.0xa9.0xfe',
    'http://0251.0376.0251.0376',
    'http://[::ffff:169.254.169.254]',
    'http://[64:ff9b::169.254.169.254]',
    'http://[2002:a9fe:a9fe::1]',
    'http://[::169.254.169.254]',
    'http://[fe80::1]',
    'http://[febf::1]',
    'http://[fd00:ec2::254]',
    'http://[fd00:ec2::23]',
    'http://[fd20:ce::254]',
    'http://100.100.100.200',
    'http://[64:ff9b::100.100.100.200]',
    'http://168.63.129.16',
    'http://192.0.0.192',
  ])('no worker registers with %s, nor with a name that goes there', (url) => {
    const { hostname } = new URL(url);
    expect(admitsHost(url)).toBe(false);
    expect(NOT_TO_METADATA.admits('a.com', hostname.replace(/[[\]]/g, ''))).toBe(false);
  });

  it.each([
    'http://127.0.0.1',
    'http://10.0.0.1',
    'http://192.168.1.1',
    'http://169.253.255.255',
    'http://169.255.0.0',
    'http://100.100.100.199',
    'http://[::1]',
    'http://[fd00::1]',
    'http://[fec0::1]',
    'http://8.8.8.8',
    'http://worker.internal',
  ])('workers register with %s', (url) => {
    const { hostname } = new URL(url);
    expect(admitsHost(url)).toBe(true);
    if (!hostname.endsWith('internal'))
      expect(NOT_TO_METADATA.admits('a.com', hostname.replace(/[[\]]/g, ''))).toBe(true);
  });

  it('a link-local address with its zone is one, and what is no address goes nowhere', () => {
    expect(NOT_TO_METADATA.admits('a.com', 'fe80::1%eth0')).toBe(false);
    expect(NOT_TO_METADATA.admits('a.com', 'a.com')).toBe(false);
  });
});
