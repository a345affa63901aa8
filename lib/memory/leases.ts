interface Lease {
  readonly token: number;
  expires: number;
}

/** Which jobs are claimed, by which token, and until when. */
export class Leases {
  private readonly leases = new Map<string, Lease>();

  /** The jobs that are claimed. */
  get ids(): string[] {
    return [...this.leases.keys()];
  }

  /** When the next one ends, in ms since 1970. */
  get nextExpiry(): number {
    let next = Infinity;
    for (const { expires } of this.leases.values()) next = Math.min(next, expires);
    return next;
  }

  set(id: string, token: number, expires: number): void {
    this.leases.set(id, { token, expires });
  }

  delete(id: string): void {
    this.leases.delete(id);
  }

  tokenOf(id: string): number | undefined {
    return this.leases.get(id)?.token;
  }

  holds(id: string, token: number): boolean {
    return this.tokenOf(id) === token;
  }

  /** Returns whether this token still held it. */
  renew(id: string, token: number, expires: number): boolean {
    const lease = this.leases.get(id);
    if (lease?.token !== token) return false;
    lease.expires = expires;
    return true;
  }

  /** The jobs whose leases have ended. */
  expired(now: number): string[] {
    return [...this.leases].filter(([, { expires }]) => expires <= now).map(([id]) => id);
  }
}
