import type { StatisticsView } from './api.js';

/** What charts show: how far back, and in which steps. */
export const PERIODS = {
  '1 h': { ms: 3_600_000, by: 'minute' },
  '24 h': { ms: 86_400_000, by: 'hour' },
  '72 h': { ms: 259_200_000, by: 'hour' },
} as const;
export type Period = keyof typeof PERIODS;
export const PERIOD_NAMES = Object.keys(PERIODS) as Period[];

export function periodOf(text: string | undefined): Period {
  return PERIOD_NAMES.find((one) => one === text) ?? '24 h';
}

/** The query of a period that ends now. It starts on a whole step, so that requests of a minute are alike. */
export function queryOf(period: Period, now: number): { by: string; from: string } {
  const { ms, by } = PERIODS[period];
  const step = by === 'minute' ? 60_000 : 3_600_000;
  return { by, from: new Date(Math.floor((now - ms) / step) * step + step).toISOString() };
}

/** Jobs a minute over the last five whole minutes. */
export function rateOf(minutes: readonly StatisticsView[]): number {
  const whole = minutes.slice(-6, -1);
  if (whole.length === 0) return 0;
  return whole.reduce((sum, { done, failed }) => sum + done + failed, 0) / whole.length;
}
