/** How something is doing that needs a server: a worker, an instance, a program. Made of what an operator wants to read. */
export interface Health {
  /** Whether the server answered when it was last asked. */
  readonly connected: boolean;
  /** Where it is, without user and password. */
  readonly server?: string;
  /** When it last answered a worker. */
  readonly lastReplyAt?: Date;
  /** Why it is not connected. */
  readonly problem?: string;
  /** Where a worker's leases are renewed: in the main thread, a handler that blocks the event loop loses its job. */
  readonly leasesKeptBy?: 'thread' | 'main thread';
}
