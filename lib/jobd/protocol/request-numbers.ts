import { randomInt } from 'node:crypto';

/** 0 is reserved. */
const FIRST = 1;
const LAST = 999_998;

/** The numbers of our own requests on one connection: they start at random and wrap around. */
export class RequestNumbers {
  constructor(private following = randomInt(FIRST, LAST + 1)) {}

  next(): number {
    const number = this.following;
    this.following = number === LAST ? FIRST : number + 1;
    return number;
  }
}
