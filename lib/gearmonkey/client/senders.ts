import { randomUUID } from 'node:crypto';
import type { KeysOf } from '../wire/protocol.js';

/** Most calls of one function that are under way; further jobs go with the next call. */
export const SENDERS = 4;

/** Its calls are numbered and go one after the other, so that one that is sent again after a lost reply creates nothing twice. */
export interface Sender {
  readonly key: string;
  calls: number;
  /** How many calls have not ended. */
  open: number;
  last: Promise<unknown>;
}

/** The senders of each function. */
export class Senders {
  private readonly senders = new Map<string, Sender[]>();
  private readonly name = randomUUID();

  constructor(private readonly keysOf: KeysOf) {}

  /** They are used one after the other. Calls that are sent in order have one, which sends each until it is answered. */
  next(fn: string, inOrder = false): Sender {
    const group = inOrder ? `${fn} in order` : fn;
    let senders = this.senders.get(group);
    if (!senders) {
      senders = this.make(fn, inOrder);
      this.senders.set(group, senders);
    }
    const sender = senders.shift() as Sender;
    senders.push(sender);
    return sender;
  }

  private make(fn: string, inOrder: boolean): Sender[] {
    const key = `${this.keysOf(fn).senders}${this.name}:${inOrder ? 'o' : ''}`;
    return Array.from({ length: inOrder ? 1 : SENDERS }, (_, index) => ({
      key: `${key}${index}`,
      calls: 0,
      open: 0,
      last: Promise.resolve(),
    }));
  }
}
