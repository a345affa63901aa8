import { Relay } from './relay.js';

/** A line to a server of a test that can be cut, and mended. */
export class CutLine {
  private isCut = false;

  private constructor(private readonly relay: Relay) {
    const { join } = relay;
    relay.join = (near, far) => (this.isCut ? near.destroy() : join(near, far));
  }

  static async to(port: number): Promise<CutLine> {
    return new CutLine(await Relay.to(port));
  }

  get port(): number {
    return this.relay.port;
  }

  cut(): void {
    this.isCut = true;
    this.relay.cut();
  }

  /** Cuts it so that the next write fails at once, and mends it. */
  reset(): void {
    this.relay.cut((socket) => socket.resetAndDestroy());
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.isCut = true;
    this.relay.close();
  }
}
