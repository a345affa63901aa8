/** The program of the lease keeper's thread: a file, or its text together with all that it imports. */
export const KEEPER_PROGRAM: URL | string = new URL('./lease-keeper.thread.mjs', import.meta.url);
