import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { GearMonkeyError } from '../../job/errors.js';

/** A request that may come from another site's web page. Its body was not read. */
export class ForeignPageError extends GearMonkeyError {
  readonly code = 'FOREIGN_PAGE';

  constructor(what: string, remedy: string) {
    super(`${what}: this may be a web page, and clients need no token or secret here. ${remedy}`);
  }
}

const OWN_SITE = new Set<unknown>([undefined, 'same-origin', 'none']);

/**
 * Refuses requests that browsers send for other sites' pages, where nothing else keeps them out. Browsers send the page's
 * origin, and a host name that was rebound to this machine is still the page's own. Programs send no origin.
 */
export class PageGuard {
  private readonly names: ReadonlySet<string>;
  /** The last host that passed: most clients always send the same. */
  private known?: string;

  /**
   * @param names host names that clients use, besides addresses, localhost and names without a dot; `*` is any
   * @param remedy what to do about it, for the message
   */
  constructor(
    names: readonly string[],
    private readonly remedy: string,
  ) {
    this.names = new Set(names.map((name) => name.toLowerCase()));
  }

  /** @throws ForeignPageError */
  check({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
    if (!OWN_SITE.has(site)) this.refuse('A request from another site');
    // A browser's `same-origin` counts even if a proxy has changed Host or dropped the port.
    if (origin !== undefined && site !== 'same-origin' && hostOf(origin) !== host)
      this.refuse('A request with a foreign Origin');
    if (host === undefined || host === this.known) return;
    if (!this.isOurs(host)) this.refuse('A request for a host of another name');
    this.known = host;
  }

  /** DNS can't redirect an address, or a name outside public domains. */
  private isOurs(host: string): boolean {
    const url = `http://${host}`;
    const name = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$|\.$/g, '') : '';
    if (name === '') return false;
    return isIP(name) > 0 || !name.includes('.') || name.endsWith('.localhost') || this.lists(name);
  }

  private lists(name: string): boolean {
    return this.names.has('*') || this.names.has(name);
  }

  private refuse(what: string): never {
    throw new ForeignPageError(what, this.remedy);
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
