import { isUtf8 } from 'node:buffer';
import { types } from 'node:util';

/** A row with all columns of its table. */
export type TableRow = Readonly<Record<string, unknown>>;

/** A handler's input: a column's content, or the whole row as JSON, with bytes that are not UTF-8 in base64. */
export function inputOf(row: TableRow, column: string | undefined): Uint8Array {
  if (column === undefined) return Buffer.from(JSON.stringify(plainRow(row)));
  const value = row[column];
  return bytesOf(value) ?? Buffer.from(typeof value === 'string' ? value : JSON.stringify(plain(value)));
}

/** The row in values that JSON can hold. */
export function plainRow(row: TableRow): TableRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  const bytes = bytesOf(value);
  return bytes ? bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64') : (value ?? null);
}

/** Drivers decode binary columns differently. */
function bytesOf(value: unknown): Buffer | undefined {
  if (types.isUint8Array(value)) return Buffer.from(value);
  return types.isAnyArrayBuffer(value) ? Buffer.from(value) : undefined;
}
