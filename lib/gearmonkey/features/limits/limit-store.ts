/** Whose jobs a limit counts. */
export interface Sharing {
  /** In order of their names, the asked one included. */
  readonly functions: readonly string[];
  /** Of a shared limit: those of which this program may not read it, so that they may share it too. */
  readonly unread: readonly string[];
}
