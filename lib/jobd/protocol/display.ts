const LONGEST_ECHO = 1000;

/** Shows a received value in an error. Cheap for any depth, and never throws. */
export function display(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return '[object Object]';
  try {
    const items = Array.isArray(value) ? value.slice(0, LONGEST_ECHO) : value;
    const text = String(items);
    return text.length > LONGEST_ECHO ? `${text.slice(0, LONGEST_ECHO)}…` : text;
  } catch {
    return '[object Array]';
  }
}
