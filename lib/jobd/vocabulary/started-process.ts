/** A process's directory and environment. */
export interface ProcessSurroundings {
  /** @default this process's */
  readonly cwd?: string | undefined;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Called with what a process writes, as it arrives. */
export type OnOutput = (stream: 'stdout' | 'stderr', chunk: Buffer) => void;

type OnEnd = (code: number | null, signal: string | null) => void;

/**
 * A process that leads its own session and group and has no input, with the events of child_process:
 * `exit` when it has ended, `close` when no process holds its output any more either.
 */
export interface StartedProcess {
  /** Undefined if none was started; `error` follows then. */
  readonly pid?: number | undefined;
  /** Replaces the previous listener. */
  onOutput(listener: OnOutput): void;
  /** Output that other processes hold open no longer keeps this process alive. */
  letGo(): void;
  once(event: 'error', listener: (error: Error) => void): this;
  once(event: 'exit' | 'close', listener: OnEnd): this;
  removeAllListeners(event: 'close'): this;
}

/** @throws what child_process throws for arguments that no process can have */
export type StartProcess = (command: string, args: readonly string[]) => StartedProcess;
