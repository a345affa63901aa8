/** A host in the form that URLs need: an IPv6 address gets brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
