import { isIPv4 } from 'node:net';

/** The network part of an IPv6 address: clients choose the rest themselves. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** The address itself, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  const v4 = address.replace(/^::ffff:/i, '');
  if (isIPv4(v4) || !address.includes(':')) return v4;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
