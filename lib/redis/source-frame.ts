import { withDeadline } from '../job/deadline.js';
import { defined } from '../job/defined.js';
import { messageOf } from '../job/errors.js';
import type { Health } from '../job/health.js';
import { ConnectionError } from '../job/server-errors.js';
import type { ChannelHub } from './channel-hub.js';
import type { RedisConnection } from './redis-connection.js';

/** A server that is down when the app starts is an error; one that is down when it stops is not waited for. */
const OPEN_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 3000;

export interface FrameConnections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
  /** What waits for work. */
  readonly blocking: { readonly isDown: boolean };
}

/** What a source opens with. */
export interface Opening {
  /** Milliseconds that the server has to answer. */
  readonly timeout: number;
  /** Waits for as long for channels. @throws ConnectionError */
  subscribed(subscribing: Promise<unknown>): Promise<void>;
}

/** What every source on Redis does the same way: it opens and closes in bounded time, and says how its server is. */
export class SourceFrame {
  private opening: Promise<void> | undefined;
  /** Whether the server knows of it, or may. */
  private hasStarted = false;
  private lastReplyAt: Date | undefined;

  constructor(
    private readonly connections: FrameConnections,
    private readonly onProblem: (message: string) => void,
  ) {}

  /** The server has answered a claim. */
  replied(): void {
    this.lastReplyAt = new Date();
  }

  /** What is known from the connections, which are opened if nothing has yet. */
  health(): Health {
    const { commands, hub, blocking } = this.connections;
    // The subscriber is the one that is never idle: a worker with no free slot asks nothing on the others.
    commands.open();
    const trouble = commands.trouble ?? hub.trouble;
    return defined({
      connected: commands.isReady && !blocking.isDown && !hub.isDown,
      server: commands.address,
      problem: trouble === undefined ? undefined : messageOf(trouble),
      lastReplyAt: this.lastReplyAt,
    });
  }

  /** @throws ConnectionError after `timeout` milliseconds, or at once where no waiting helps */
  reach(timeout: number): Promise<void> {
    return this.connections.commands.reach(timeout);
  }

  /**
   * Starts once the server takes commands.
   *
   * @throws ConnectionError in time, or at once where no waiting helps, as with a wrong password
   */
  open(start: (opening: Opening) => Promise<void>): Promise<void> {
    const timeout = OPEN_TIMEOUT_MS;
    const late = () => new ConnectionError('Redis did not subscribe', `not within ${timeout} ms`);
    const subscribed = async (subscribing: Promise<unknown>) =>
      void (await withDeadline(subscribing, timeout, late));
    const reached = this.connections.commands.ready(timeout, { patient: false });
    const opening = reached.then(() => {
      this.hasStarted = true;
      return start({ timeout, subscribed });
    });
    this.opening = opening;
    // What never reached its server has nothing to sign off, and would only wait for it.
    opening.catch(() => {
      if (this.opening === opening && !this.hasStarted) this.opening = undefined;
    });
    return opening;
  }

  /**
   * Signs off if it was opened: what the server doesn't take in time is reported, and left to expire.
   *
   * @param signOff gets what resolves when no opening is under way any more
   */
  async close(signOff: (opened: Promise<void>) => Promise<void>): Promise<void> {
    if (!this.opening) return;
    const opened = this.opening.catch(() => undefined);
    this.opening = undefined;
    this.hasStarted = false;
    const late = () => new ConnectionError('Redis did not answer', `not within ${CLOSE_TIMEOUT_MS} ms`);
    await withDeadline(signOff(opened), CLOSE_TIMEOUT_MS, late).catch((error: unknown) =>
      this.onProblem(`The worker could not sign off: ${messageOf(error)}`),
    );
  }
}
