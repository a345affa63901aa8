import { Option, type Command } from 'commander';
import { diagnose, type Diagnosis } from '../../../doctor/diagnose.js';
import type { Finding, Skipped } from '../../../gearmonkey/core/examination.js';
import type { Role } from '../../../gearmonkey/core/wire/rights.js';
import { defined } from '../../../job/defined.js';
import { toMilliseconds } from '../../../job/duration.js';
import { printable } from '../../../job/printable.js';
import type { Output } from '../output.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';

interface DoctorFlags extends Flags {
  readonly fix?: true;
  readonly as?: Role;
  readonly slowScript?: string;
}

interface Mended extends Diagnosis {
  /** The findings that were fixed. */
  readonly fixed: readonly Finding[];
}

export function addDoctor(program: Command): void {
  const doctor = program
    .command('doctor [fns...]')
    .description('examine the server and its functions; exit code 2 if something is wrong')
    .option('--fix', 'repair what is safe to repair')
    .addOption(
      new Option('--as <role>', 'whose rights this user should have (default: operator)').choices([
        ...(['client', 'worker', 'operator'] satisfies Role[]),
      ]),
    )
    .option('--slow-script <span>', 'from when a script counts as slow (default: 100ms)');
  acts<DoctorFlags>(doctor, async (context, fns, flags) => {
    const { findings, fixed, skipped, functions } = await examined(context, fns, flags);
    const { out } = context;
    const value = { findings: findings.map(toValue), fixed: fixed.map(toValue), skipped, functions };
    out.show(value, [
      ...findings.flatMap((finding) => findingLines(out, finding)),
      ...fixed.map(({ code, title }) => `${out.paint('green', 'fixed')}    ${code}: ${printable(title)}`),
      ...skipped.map(skippedLine),
      `examined: ${countText(functions.length, 'function')}; found: ${countText(findings.length, 'problem')}`,
    ]);
    return findings.length > 0 ? FOUND : undefined;
  });
}

async function examined(
  { connection, keysOf }: Context,
  fns: readonly (string | undefined)[],
  { fix, as, slowScript }: DoctorFlags,
): Promise<Mended> {
  const options = defined({
    keysOf,
    functions: fns.filter((fn) => fn !== undefined),
    role: as,
    slowScript:
      slowScript === undefined ? undefined : toMilliseconds('--slow-script', slowScript, { least: 0 }),
  });
  const first = await diagnose(connection, options);
  const fixable = first.findings.filter((finding) => finding.fix);
  if (!fix || fixable.length === 0) return { ...first, fixed: [] };
  for (const finding of fixable) await finding.fix?.apply();
  const second = await diagnose(connection, options);
  const isLeft = ({ code, fn }: Finding) =>
    second.findings.some((other) => other.code === code && other.fn === fn);
  return { ...second, fixed: fixable.filter((finding) => !isLeft(finding)) };
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function toValue({ fix, ...finding }: Finding): object {
  return fix ? { ...finding, fix: fix.does } : finding;
}

function findingLines(out: Output, { severity, code, title, remedy, fix }: Finding): string[] {
  const label = out.paint(severity === 'error' ? 'red' : 'yellow', severity.padEnd(8));
  return [
    `${label} ${code}: ${printable(title)}`,
    `         ${printable(remedy)}`,
    ...(fix ? [`         --fix: ${fix.does}`] : []),
  ];
}

function skippedLine({ what, why }: Skipped): string {
  return printable(`not seen ${what}: ${why}`);
}
