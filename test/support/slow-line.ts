import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

type Held = { readonly to: Socket; readonly bytes: Buffer | 'end' };

/** A connection through the proxy and what was held back of it. */
interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  held: Held[];
  frozen: boolean;
  swallowed: boolean;
  /** Chunks on their way, in order, when there is latency. */
  delayed: Promise<void>;
}

/** What a line carries. */
export interface LineQuality {
  /** Megabits a second each way, for all connections together. @default Infinity */
  bandwidth?: number;
  /** Milliseconds each way. @default 0 */
  latency?: number;
}

/** A line between a process and its server, on a port of its own: slow, cut, silent or leading elsewhere when told to. */
export class SlowLine {
  private readonly pairs = new Set<Pair>();
  private bandwidth: number;
  private latency: number;
  /** When either direction has carried what it was given, by `performance.now()`. */
  private readonly busyUntil = { near: 0, far: 0 };
  private partition: 'held' | 'swallowed' | undefined;
  private freezesAt: string | undefined;

  private constructor(
    private readonly server: Server,
    private targetPort: number,
    private readonly usual: LineQuality,
  ) {
    ({ bandwidth: this.bandwidth = Infinity, latency: this.latency = 0 } = usual);
    server.on('connection', (near) => this.accept(near));
  }

  static async start(targetPort: number, quality: LineQuality = {}): Promise<SlowLine> {
    const server = createServer({ allowHalfOpen: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SlowLine(server, targetPort, quality);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** How many connections are silent. */
  get frozen(): number {
    return [...this.pairs].filter(({ frozen }) => frozen).length;
  }

  /** From now on; what is not named is as good as it gets. Without a quality it is as it was at first. */
  throttle({ bandwidth = Infinity, latency = 0 }: LineQuality = this.usual): void {
    this.bandwidth = bandwidth;
    this.latency = latency;
  }

  /** New connections go to another server; those there are end. */
  retarget(port: number): void {
    this.lead(port);
    this.cut();
  }

  /** New connections go to another server; those there are stay where they were, as behind a name. */
  lead(port: number): void {
    this.targetPort = port;
  }

  /** Ends all connections. */
  cut(): void {
    for (const pair of this.pairs) this.drop(pair);
  }

  /** Ends all connections in order, as a server does that shuts down. */
  endAll(): void {
    for (const { near } of this.pairs) near.end();
  }

  /**
   * Nothing passes any more in either direction, and neither end is notified. What is `held` arrives when it is over,
   * as TCP would send it again; where bytes were `swallowed` the connections end then.
   */
  separate(how: 'held' | 'swallowed'): void {
    this.partition = how;
    for (const pair of this.pairs) this.freeze(pair, how === 'swallowed');
  }

  /** The connections there are fall silent, and arrive late; new ones pass. */
  freezeOpenOnes(): void {
    for (const pair of this.pairs) this.freeze(pair, false);
  }

  /** From these bytes on, which a client sends, its connection falls silent; they arrive late. */
  freezeAt(text: string): void {
    this.freezesAt = text;
  }

  heal(): void {
    this.partition = undefined;
    this.freezesAt = undefined;
    for (const pair of this.pairs) this.thaw(pair);
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(near: Socket): void {
    const far = connect(this.targetPort, '127.0.0.1');
    const pair: Pair = { near, far, held: [], frozen: false, swallowed: false, delayed: Promise.resolve() };
    this.pairs.add(pair);
    if (this.partition) this.freeze(pair, this.partition === 'swallowed');
    this.forward(pair, near, far, 'near');
    this.forward(pair, far, near, 'far');
  }

  private forward(pair: Pair, from: Socket, to: Socket, side: 'near' | 'far'): void {
    from.setNoDelay(true);
    from.on('data', (bytes: Buffer) => {
      if (side === 'near' && this.freezesAt !== undefined && bytes.includes(this.freezesAt))
        this.freeze(pair, false);
      if (this.bandwidth === Infinity) return this.pass(pair, to, bytes);
      // One piece of each connection is on its way at a time: the others wait where they would on a real line.
      from.pause();
      setTimeout(
        () => {
          from.resume();
          this.pass(pair, to, bytes);
        },
        this.transmission(side, bytes.length),
      );
    });
    from.on('error', () => undefined);
    from.on('close', () => this.pass(pair, to, 'end'));
  }

  /** Milliseconds until so many bytes more are through. */
  private transmission(side: 'near' | 'far', bytes: number): number {
    const now = performance.now();
    const carried = (bytes * 8) / (this.bandwidth * 1000);
    this.busyUntil[side] = Math.max(now, this.busyUntil[side]) + carried;
    return this.busyUntil[side] - now;
  }

  private pass(pair: Pair, to: Socket, bytes: Buffer | 'end'): void {
    if (pair.frozen) {
      if (!pair.swallowed) pair.held.push({ to, bytes });
      return;
    }
    if (this.latency === 0 && bytes === 'end') return this.drop(pair);
    const { latency } = this;
    const earlier = pair.delayed;
    const due = latency === 0 ? undefined : new Promise<void>((resolve) => setTimeout(resolve, latency));
    pair.delayed = earlier.then(() => due).then(() => this.deliver(pair, to, bytes));
  }

  private deliver(pair: Pair, to: Socket, bytes: Buffer | 'end'): void {
    if (pair.frozen) this.pass(pair, to, bytes);
    else if (bytes === 'end') this.drop(pair);
    else if (!to.destroyed) to.write(bytes);
  }

  private freeze(pair: Pair, swallowed: boolean): void {
    pair.frozen = true;
    pair.swallowed ||= swallowed;
  }

  private thaw(pair: Pair): void {
    if (!pair.frozen) return;
    pair.frozen = false;
    if (pair.swallowed) return this.drop(pair);
    for (const { to, bytes } of pair.held.splice(0)) this.deliverLate(pair, to, bytes);
  }

  /** A connection that was given up meanwhile still delivers what had been sent on it. */
  private deliverLate(pair: Pair, to: Socket, bytes: Buffer | 'end'): void {
    if (bytes !== 'end') {
      if (!to.destroyed) to.write(bytes);
    } else {
      this.pairs.delete(pair);
      to.end(() => this.drop(pair));
    }
  }

  private drop(pair: Pair): void {
    this.pairs.delete(pair);
    pair.near.destroy();
    pair.far.destroy();
  }
}
