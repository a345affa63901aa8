import { readFileSync, writeFileSync } from 'node:fs';
import type { CommandCost } from './command-cost.js';

export type Budgets = Record<string, CommandCost>;

const FILE = new URL('budget.json', import.meta.url);

/**
 * How far a figure may be off. How many jobs share a call depends on when they end, so that with several at a
 * time the figures are never quite the same.
 */
const SHARED = { roundTrips: 0.3, scriptCalls: 0.15, bytes: 0.15 };
/** A process that gets less of the processor ends fewer jobs between two calls. */
const SHARED_BY_MANY = { ...SHARED, roundTrips: 0.5 };
/**
 * How many short jobs a worker claims ahead depends on the speed of the machine. With none, one at a time would take 18
 * times its round trips, and ten at a time 6 times.
 */
const AHEAD = { roundTrips: 4, scriptCalls: 0.5, bytes: 0.8 };
const AHEAD_OF_TEN = { ...SHARED, roundTrips: 3 };
/** One job at a time leaves nothing to chance but the background of a slow machine. */
const EXACT = { roundTrips: 0.05, scriptCalls: 0.05, bytes: 0.05 };

/** A call more or less among hundreds of jobs. */
const CHANCE = 0.005;

const RECORD = 'RECORD_BUDGETS=1 npm test -- test/scale/budget';

export function readBudgets(): Budgets {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Budgets;
}

export function writeBudgets(budgets: Budgets): void {
  const rounded = Object.entries(budgets).map(([name, cost]) => [name, mapCost(cost, round)]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}

/** Says what is wrong with a cost, for the author of a change of the hot path; empty if it keeps its budget. */
export function judge(name: string, cost: CommandCost, budget: CommandCost | undefined): string[] {
  if (!budget) return [`${name} has no budget. Record one: ${RECORD}`];
  const slack = slackOf(name);
  return (['roundTrips', 'scriptCalls', 'bytes'] as const).flatMap((figure) => {
    const [is, was, part] = [cost[figure], budget[figure], slack[figure]];
    const said = `${name}: ${round(is)} ${figure} a job, and its budget is ${was}.`;
    if (is > was * (1 + part) + CHANCE)
      return [`${said} The hot path became heavier. If that is worth it, record it: ${RECORD}`];
    if (is < was * (1 - 2 * part) - CHANCE)
      return [`${said} The hot path became lighter. Keep it so, record it: ${RECORD}`];
    return [];
  });
}

function slackOf(name: string): CommandCost {
  if (name.includes('short jobs, 1 at a time')) return AHEAD;
  if (name.includes('short jobs, 10 at a time')) return AHEAD_OF_TEN;
  if (name.includes('short jobs')) return SHARED_BY_MANY;
  return name.includes('call') ? SHARED : EXACT;
}

function mapCost(cost: CommandCost, change: (value: number) => number): CommandCost {
  const { roundTrips, scriptCalls, bytes } = cost;
  return { roundTrips: change(roundTrips), scriptCalls: change(scriptCalls), bytes: change(bytes) };
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
