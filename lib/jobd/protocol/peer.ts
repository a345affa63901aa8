/** The other end of a connection. */
export interface Peer {
  /** Resolves once the connection is gone, with the reason. */
  readonly closed: Promise<string>;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  /** Its address, for logs. */
  readonly address: string;
  /** Nothing that is sent reaches it any more. */
  readonly hasEnded: boolean;
  /** When it was last heard of, in milliseconds of `performance.now()`. */
  readonly heardAt: number;

  /** It is a daemon of ours: its messages may be large, and reading them never waits for our writing. */
  trust(): void;
  /**
   * @throws RequestError with its `error`
   * @throws PeerLostError when the connection is or gets closed
   */
  request(type: string, data?: unknown): Promise<unknown>;
  ping(): void;
  /** Sends a message, with its EOT. */
  write(frame: string): void;
  /** Sends what is written, then closes; what it still sends is dropped. */
  end(): void;
  /** Closes at once. */
  destroy(reason: string): void;
}
