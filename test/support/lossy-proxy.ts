import type { Socket } from 'node:net';
import { Relay } from './relay.js';

/** Passes everything on, but cuts the connections in place of replies to a chosen number of script calls. */
export class LossyProxy {
  /** How many replies pass before the first one is lost. */
  pass = 0;
  lose = 0;
  lost = 0;
  /** Text that a reply must have to be lost. */
  having = '';
  /** What happens between a call whose reply is lost and the end of its connection. */
  meanwhile: () => unknown = () => undefined;

  private constructor(private readonly relay: Relay) {
    relay.join = (near, far) => this.join(near, far);
  }

  static async start(port: number): Promise<LossyProxy> {
    return new LossyProxy(await Relay.to(port));
  }

  get url(): string {
    return this.relay.url;
  }

  stop(): void {
    this.relay.close();
  }

  private join(near: Socket, far: Socket): void {
    let calls = false;
    near.on('data', (bytes) => {
      calls ||= bytes.includes('EVAL');
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      // A script that is not known yet did nothing; the reply to another one may stand behind.
      const isUnknown = /^-NOSCRIPT[^\r]*\r\n$/.test(bytes.toString('latin1'));
      if (!calls || this.lose === 0 || isUnknown || !bytes.includes(this.having)) return near.write(bytes);
      if (this.pass > 0) {
        this.pass -= 1;
        return near.write(bytes);
      }
      this.lose -= 1;
      this.lost += 1;
      return void Promise.resolve(this.meanwhile()).finally(() => near.destroy());
    });
  }
}
