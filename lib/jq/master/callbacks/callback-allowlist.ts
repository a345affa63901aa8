import { BlockList, isIP } from 'node:net';
import { ConfigurationError } from '../../../job/errors.js';

const NAME = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
/** URLs parse a host that ends like this as an address, so such a name would never match. */
const LIKE_ADDRESS = /(^|\.)(\d+|0x[0-9a-f]*)$/;
const BITS = { 4: 32, 6: 128 } as const;

/** Ranges that IANA reserves: these addresses are not public. */
const SPECIAL = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
/** Addresses of one link, and those where clouds tell secrets to their machines, also as IPv6 carries those of IPv4. */
const METADATA = blockList([
  '169.254.0.0/16',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254',
  '::a9fe:0/112',
  '64:ff9b::a9fe:0/112',
  '64:ff9b::6464:64c8',
  '64:ff9b::a83f:8110',
  '64:ff9b::c000:c0',
  '2002:a9fe::/32',
  '2002:6464:64c8::/48',
  '2002:a83f:8110::/48',
  '2002:c000:c0::/48',
]);
/** The only public range of IPv6, so that ranges which map or tunnel to IPv4 are excluded. */
const PUBLIC_6 = blockList(['2000::/3']);

/** Where pushes may go. */
export interface CallbackRule {
  /** Whether a worker may register with this host. Its addresses are checked when connecting. */
  admitsHost(host: string): boolean;
  /** Whether a connection to this host may go to this address. */
  admits(host: string, address: string): boolean;
}

/** Without a list: anywhere but to link-local addresses and those of clouds' metadata. */
export const NOT_TO_METADATA: CallbackRule = {
  admitsHost: (host) => isIP(nameOf(host)) === 0 || NOT_TO_METADATA.admits(host, nameOf(host)),
  admits: (_, address) => {
    const [plain = ''] = address.split('%');
    const family = familyOf(plain);
    return family !== undefined && !METADATA.check(plain, family);
  },
};

/**
 * Where pushes may go. An entry is a name (`worker.example.com`, `*.example.com`, or `*` for all), or an address or
 * range of them (`10.1.0.0/16`, `fd00::7`). A name's addresses must be public, or be listed as well.
 */
export class CallbackAllowlist implements CallbackRule {
  private readonly names: string[] = [];
  private readonly ranges: string[] = [];
  private readonly listed: BlockList;

  /** @throws ConfigurationError */
  constructor(entries: readonly string[]) {
    for (const entry of entries.map((each) => each.toLowerCase())) {
      if (isRange(entry)) this.ranges.push(entry);
      else if (entry === '*' || (NAME.test(entry) && !LIKE_ADDRESS.test(entry))) this.names.push(entry);
      else throw new ConfigurationError(`"${entry}" is no entry of a callback allowlist. ${FORMS}`);
    }
    this.listed = blockList(this.ranges);
  }

  admitsHost(host: string): boolean {
    const name = nameOf(host);
    return isIP(name) > 0 ? this.admits(name, name) : this.lists(name) || this.ranges.length > 0;
  }

  admits(host: string, address: string): boolean {
    const [plain = ''] = address.split('%');
    const family = familyOf(plain);
    if (!family) return false;
    return this.listed.check(plain, family) || (this.lists(nameOf(host)) && isPublic(plain, family));
  }

  private lists(host: string): boolean {
    return this.names.some(
      (name) => name === '*' || name === host || (name.startsWith('*.') && host.endsWith(name.slice(1))),
    );
  }
}

const FORMS = 'Give names like "worker.example.com" or "*.example.com", or addresses like "10.1.0.0/16".';

function isRange(entry: string): boolean {
  const [address = '', bits = '0', ...more] = entry.split('/');
  const version = isIP(address);
  return (
    (version === 4 || version === 6) &&
    more.length === 0 &&
    /^\d{1,3}$/.test(bits) &&
    Number(bits) <= BITS[version]
  );
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = familyOf(address);
    if (!family) continue;
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  return ({ 4: 'ipv4', 6: 'ipv6' } as const)[isIP(address)];
}

function isPublic(address: string, family: 'ipv4' | 'ipv6'): boolean {
  const isSpecial = SPECIAL.check(address, family) || METADATA.check(address, family);
  return !isSpecial && (family === 'ipv4' || PUBLIC_6.check(address, family));
}

/** A URL's host without the brackets of IPv6 or a trailing dot. */
function nameOf(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
}
