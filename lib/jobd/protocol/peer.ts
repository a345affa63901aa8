/** The other end of a connection. */
export interface Peer {
  /** Resolves when the connection has closed, with the reason. */
  readonly closed: Promise<string>;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  /** Its address, for logs. */
  readonly address: string;
  /** Whether the connection is closed for sending. */
  readonly hasEnded: boolean;
  /** When data last arrived from it, by `performance.now()`. */
  readonly heardAt: number;

  /** Treats it as one of our daemons: its messages may be large, and reading them never waits for our writes. */
  trust(): void;
  /**
   * @throws RequestError with its `error`
   * @throws PeerLostError when the connection is or gets closed
   */
  request(type: string, data?: unknown): Promise<unknown>;
  ping(): void;
  /** Sends a message, with its EOT. */
  write(frame: string): void;
  /** Sends what was written, then closes. Data that still arrives is dropped. */
  end(): void;
  /** Closes at once. */
  destroy(reason: string): void;
}
