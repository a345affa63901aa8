import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiFailure } from './api.js';

export interface Loaded<T> {
  /** The last answer, also while it is read again. */
  readonly data: T | undefined;
  readonly error: ApiFailure | undefined;
  /** When `data` was read. */
  readonly at: number | undefined;
  readonly reload: () => void;
}

/** Reads on the first look, when `key` changes, and every so many milliseconds while somebody looks. */
export function useLoad<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  every?: number,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; at?: number; error?: ApiFailure }>({ key });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((last) => last + 1), []);
  useEffect(() => {
    const controller = new AbortController();
    read(controller.signal).then(
      (data) => !controller.signal.aborted && setState({ key, data, at: Date.now() }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const failure = error instanceof ApiFailure ? error : new ApiFailure(0, 'ERROR', String(error));
        setState((last) => ({ ...(last.key === key ? last : {}), key, error: failure }));
      },
    );
    return () => controller.abort();
  }, [key, turn]);
  useEffect(() => {
    if (every === undefined) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), every);
    return () => clearInterval(timer);
  }, [every]);
  const { data, error, at } = state.key === key ? state : {};
  return { data, error, at, reload };
}
