import { afterAll, beforeAll } from '@jest/globals';
import { Authority, type Identity } from './authority.js';

export { Authority, type Identity };

export interface UsedTls extends Identity {
  readonly authority: Authority;
  /** The authority's certificate as PEM. */
  readonly ca: string;
}

/**
 * For a `describe`: an authority, and a certificate of it for 127.0.0.1 and localhost. Its properties are
 * there from `beforeAll` on, so it stands before what starts a server with them.
 */
export function useTls(): UsedTls {
  let made: { authority: Authority; identity: Identity } | undefined;

  beforeAll(async () => {
    const authority = await Authority.create();
    made = { authority, identity: await authority.issue() };
  });
  afterAll(() => made?.authority.remove());

  function current() {
    if (!made) throw new Error('The certificates of useTls() are made in beforeAll.');
    return made;
  }

  return {
    get authority() {
      return current().authority;
    },
    get ca() {
      return current().authority.ca;
    },
    get cert() {
      return current().identity.cert;
    },
    get key() {
      return current().identity.key;
    },
    get files() {
      return current().identity.files;
    },
  };
}
