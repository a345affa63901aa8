/** How processes get their surroundings. */
export interface ProcessSurroundings {
  /** @default this process's */
  readonly cwd?: string | undefined;
  /** All of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Told what a process writes, as it comes. */
export type OnOutput = (stream: 'stdout' | 'stderr', chunk: Buffer) => void;

type OnEnd = (code: number | null, signal: string | null) => void;

/**
 * A process that leads a session and group of its own and has no input, with the events of child_process:
 * `exit` when it has ended, `close` when no process holds its output any more either.
 */
export interface StartedProcess {
  /** Undefined where none was started; then `error` follows. */
  readonly pid?: number | undefined;
  /** Takes the place of the listener before. */
  onOutput(listener: OnOutput): void;
  /** Output that other processes still hold open keeps this process alive no longer. */
  letGo(): void;
  once(event: 'error', listener: (error: Error) => void): this;
  once(event: 'exit' | 'close', listener: OnEnd): this;
  removeAllListeners(event: 'close'): this;
}

/** @throws what child_process throws for arguments that no process can have */
export type StartProcess = (command: string, args: readonly string[]) => StartedProcess;
