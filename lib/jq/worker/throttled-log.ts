const REPEAT_MS = 30_000;
const MOST = 100;

/** Logs the same message at most once in half a minute. */
export function throttledLog(
  say: (message: string) => void,
  now = () => performance.now(),
): (message: string) => void {
  const said = new Map<string, number>();
  return (message) => {
    const last = said.get(message);
    if (last !== undefined && now() - last < REPEAT_MS) return;
    if (said.size >= MOST) said.clear();
    said.set(message, now());
    say(message);
  };
}
