import { withDeadline } from '../job/clock.js';
import { defined } from '../job/defined.js';
import { messageOf } from '../job/errors.js';
import type { Health } from '../job/health.js';
import { ConnectionError } from '../job/server-errors.js';
import type { ChannelHub } from './channel-hub.js';
import type { RedisConnection } from './redis-connection.js';

/** If the server is down, the app's start fails after this time; its stop waits much less. */
const OPEN_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 3000;

export interface FrameConnections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
  /** The connection on which the source waits for work. */
  readonly blocking: { readonly isDown: boolean };
}

/** What `open` gives to a source's start. */
export interface Opening {
  /** Milliseconds within which the server must answer. */
  readonly timeout: number;
  /** Waits for subscriptions, no longer than `timeout`. @throws ConnectionError */
  subscribed(subscribing: Promise<unknown>): Promise<void>;
}

/** What all sources on Redis share: opening and closing in bounded time, and health. */
export class SourceFrame {
  private opening: Promise<void> | undefined;
  /** Whether the server may know of this worker. */
  private hasStarted = false;
  private lastReplyAt: Date | undefined;

  constructor(
    private readonly connections: FrameConnections,
    private readonly onProblem: (message: string) => void,
  ) {}

  /** Records that the server has answered a claim. */
  replied(): void {
    this.lastReplyAt = new Date();
  }

  /** The state of the connections, which are opened if needed. */
  health(): Health {
    const { commands, hub, blocking } = this.connections;
    // The subscriber is always in use; a worker without a free slot sends nothing on the others.
    commands.open();
    const trouble = commands.trouble ?? hub.trouble;
    return defined({
      connected: commands.isReady && !blocking.isDown && !hub.isDown,
      server: commands.address,
      problem: trouble === undefined ? undefined : messageOf(trouble),
      lastReplyAt: this.lastReplyAt,
    });
  }

  /** @throws ConnectionError after `timeout` milliseconds, or at once if waiting can't help */
  reach(timeout: number): Promise<void> {
    return this.connections.commands.reach(timeout);
  }

  /**
   * Runs `start` once the server takes commands.
   *
   * @throws ConnectionError in time, or at once if waiting can't help, as with a wrong password
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
    // A worker that never reached its server has nothing to sign off.
    opening.catch(() => {
      if (this.opening === opening && !this.hasStarted) this.opening = undefined;
    });
    return opening;
  }

  /**
   * Signs off if it was opened. If the server doesn't answer in time, that is reported and the presence expires.
   *
   * @param signOff gets a promise that resolves when opening has ended
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
