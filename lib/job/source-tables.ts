import { InvalidOptionError } from './errors.js';

/** What a row of a source's table has in a column. Times are ISO 8601 texts. Texts are whole: they are cut where they are shown. */
export type TableCell = string | number | boolean | null;

/** A page of a table in a system's own terms. */
export interface SourceTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly TableCell[])[];
  /** How many rows there are on all pages, if that is known. */
  readonly total?: number;
  /** The `page` of the next one; absent on the last page. */
  readonly next?: string;
  /** The column that names the function, queue or target of a row: who may not see that may not see the row. */
  readonly functions?: string;
  /** The column of texts that handlers wrote. */
  readonly errors?: string;
  /** The column that tells a row from all others, if something can be done to rows. */
  readonly key?: string;
  /** Whether `open` shows more of a row. */
  readonly opens?: boolean;
  /** What can be done to each of the rows as they are now, in their order. */
  readonly verbs?: readonly (readonly TableVerb[])[];
}

/** What people may do to a row of a table. */
export type TableVerb = 'run' | 'retry' | 'cancel' | 'discard' | 'pause' | 'resume';

/** Something of a row that is too large for a table. */
export interface SourceField {
  readonly name: string;
  /** As it was decoded: text, bytes, a `Date`, or what JSON can hold, with these in it. It is cut where it is shown. */
  readonly value: unknown;
  /** Most characters that are shown of each text in `value`, if the system has cut longer ones. */
  readonly most?: number;
  /**
   * In a list of objects: the property that names a function, queue or target, which is left out for those who may not see it.
   */
  readonly functions?: string;
  /** Texts that programs wrote into a job, which an app may want to hide. */
  readonly part?: 'input' | 'output' | 'error';
}

/** All of a row. */
export interface SourceRow {
  /** The function, queue or target that it belongs to. */
  readonly fn: string;
  readonly fields: readonly SourceField[];
}

/** A row that something is done to. */
export interface TableRequest {
  readonly view: string;
  readonly verb: TableVerb;
  /** The row's text in the column `key`. */
  readonly key: string;
  /** The function, queue or target that it must belong to. */
  readonly fn: string;
}

/** How people enqueue jobs, and what the system calls the parts of one. */
export interface TableEnqueue {
  readonly fn: string;
  readonly input: string;
  /** Absent in systems whose jobs have no name beside `fn`. */
  readonly kind?: string;
  /** @returns its id @throws GearMonkeyError */
  enqueue(job: { readonly fn: string; readonly input: unknown; readonly kind: string }): Promise<string>;
}

/** The tables of a source, which people look at page by page. */
export interface SourceTables {
  /** Their names. */
  readonly views: readonly string[];
  /** What can be done to rows of any of them. */
  readonly verbs: readonly TableVerb[];
  readonly enqueue?: TableEnqueue;
  /** At most 100 rows. @param page '' for the first one @throws InvalidOptionError for a wrong `page` */
  read(view: string, page: string): Promise<SourceTable>;
  /** All of a row; undefined if there is none. Only for tables with `opens`. */
  open(view: string, key: string): Promise<SourceRow | undefined>;
  /**
   * Does something to the jobs that a row stands for, at most 1,000 of them, if they belong to `fn`.
   *
   * @returns how many it was done to
   */
  act(request: TableRequest): Promise<number>;
}

/** How a column is made of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => unknown>>;

/** Rows of a page, where the system does not say how many. */
export const ROWS_OF_PAGE = 50;

/** What can be done to a row as it is now. */
export type VerbsOf<Row> = (row: Row) => readonly TableVerb[];

/** A table whose columns are in the order of `columns`. */
export function toTable<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  verbsOf?: VerbsOf<Row>,
): Pick<SourceTable, 'columns' | 'rows' | 'verbs'> {
  const makers = Object.values(columns);
  return {
    columns: Object.keys(columns),
    rows: rows.map((row) => makers.map((make) => toCell(make(row)))),
    ...(verbsOf && { verbs: rows.map(verbsOf) }),
  };
}

/** A page of a list that was read whole. @throws InvalidOptionError */
export function toSlice<Row>(
  all: readonly Row[],
  columns: Columns<Row>,
  page: string,
  verbsOf?: VerbsOf<Row>,
): Pick<SourceTable, 'columns' | 'rows' | 'verbs' | 'total' | 'next'> {
  const first = offsetOf(page);
  const end = first + ROWS_OF_PAGE;
  const table = toTable(all.slice(first, end), columns, verbsOf);
  return { ...table, total: all.length, ...(end < all.length && { next: String(end) }) };
}

/** The position that a page begins at. @throws InvalidOptionError */
export function offsetOf(page: string): number {
  if (!/^\d{0,9}$/.test(page)) throw wrongPage(page);
  return Number(page);
}

export function wrongPage(page: string): InvalidOptionError {
  return new InvalidOptionError('page', page, 'the `next` of a page before');
}

function toCell(value: unknown): TableCell {
  if (Array.isArray(value)) return toCell(value.map(String).join(', '));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : null;
}

/** Fields of what is there. */
export function fieldsOf(
  values: Readonly<Record<string, unknown>>,
  parts: Readonly<Record<string, SourceField['part']>> = {},
): SourceField[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === null || value === undefined || value === '') return [];
    const part = parts[name];
    return [{ name, value, ...(part && { part }) }];
  });
}
