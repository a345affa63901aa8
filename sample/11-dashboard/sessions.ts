import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';

export interface User {
  readonly name: string;
  readonly role: 'operator' | 'reader';
}

interface Session {
  readonly user: User;
  readonly until: number;
}

const SESSION_MS = 8 * 60 * 60 * 1000;

/** In place of a table of users, with slow hashes of their passwords. */
const USERS: readonly (User & { password: string })[] = [
  { name: 'ops', role: 'operator', password: process.env['OPS_PASSWORD'] ?? 'only-for-development' },
  { name: 'eye', role: 'reader', password: process.env['EYE_PASSWORD'] ?? 'only-for-looking' },
];

/** Who is signed in. In memory: with several processes they belong into Redis or the database. */
@Injectable()
export class Sessions {
  readonly #open = new Map<string, Session>();

  /** The id of a new session; undefined for a wrong name or password. */
  begin(name: string, password: string): string | undefined {
    const found = USERS.find((one) => one.name === name);
    const isRight = timingSafeEqual(digest(password), digest(found?.password ?? ''));
    if (!found || !isRight) return undefined;
    const id = randomBytes(24).toString('base64url');
    this.#open.set(id, { user: { name: found.name, role: found.role }, until: Date.now() + SESSION_MS });
    return id;
  }

  userOf(id: string): User | undefined {
    const session = this.#open.get(id);
    if (session && session.until > Date.now()) return session.user;
    this.#open.delete(id);
    return undefined;
  }

  end(id: string): void {
    this.#open.delete(id);
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
