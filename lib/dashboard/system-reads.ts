import { Inject, Injectable } from '@nestjs/common';
import type { SourceField, SourceTable, SourceTables } from '../job/source-tables.js';
import type { NativeRow, NativeView } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import type { Query } from './job-reads.js';
import { Redaction } from './redaction.js';
import { Snapshots } from './snapshots.js';
import { askSystem } from './system-questions.js';
import { DashboardAccess } from './viewed-instance.js';

const MAX_PAGE = 2048;
/** Most characters that are shown. */
const MOST_CELL = 1000;
const MOST_FIELD = 65_536;

/** Reads the tables of qless, JQ and jobd. */
@Injectable()
export class SystemReads {
  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(Redaction) private readonly redaction: Redaction,
    @Inject(Snapshots) private readonly snapshots: Snapshots,
  ) {}

  /** A page of a system's own table. @throws ApiFailure 400, 403, 404, 502, 503 */
  async native(user: DashboardUser, { i, view, page = '' }: Query): Promise<NativeView> {
    const { name, tables } = this.access.tables(i);
    const known = viewOf(tables, view);
    const asked = textOf('page', page);
    const read = () => askSystem(() => tables.read(known, asked));
    const table = await this.snapshots.take(name, ['native', known, asked], read);
    return this.shown(user, name, table);
  }

  /** All of a row. @throws ApiFailure 400, 403, 404, 502, 503 */
  async row(user: DashboardUser, { i, view, key }: Query): Promise<NativeRow> {
    const { name, tables } = this.access.tables(i);
    const [known, asked] = [viewOf(tables, view), textOf('key', key)];
    const open = () => askSystem(() => tables.open(known, asked));
    const row = await this.snapshots.take(name, ['row', known, asked], open);
    if (!row) throw ApiFailure.notFound('such row');
    const { fn } = row;
    if (!this.maySee(user, fn, name)) throw ApiFailure.notAllowed('see this function');
    const of = { instance: name, fn };
    const fields = row.fields.map((field) => {
      const { part, most } = field;
      const value = this.seenOf(user, name, field);
      return {
        ...{ name: field.name, ...(part && { part }) },
        text: this.redaction.value(value, { part: part ?? 'field', of, most: MOST_FIELD, each: most }),
      };
    });
    return { fn, fields };
  }

  /** A field without the names of functions that a user may not see. */
  private seenOf(user: DashboardUser, i: string, { value, functions }: SourceField): unknown {
    if (functions === undefined || !Array.isArray(value)) return value;
    const isSeen = ([name, text]: [string, unknown]) =>
      name !== functions || this.maySee(user, String(text), i);
    return value.map((item: object) => Object.fromEntries(Object.entries(item).filter(isSeen)));
  }

  /** What belongs to no function, such as a completed job of qless, is for those who may see all. */
  private maySee(user: DashboardUser, fn: string, i: string): boolean {
    return user.view === true || (fn !== '' && this.access.mayView(user, fn, i));
  }

  private shown(user: DashboardUser, i: string, table: SourceTable): NativeView {
    const { columns, rows, total, next, functions, errors, key, opens = false, verbs = [] } = table;
    const isPartial = user.view !== true;
    if (isPartial && functions === undefined) throw ApiFailure.notAllowed('see this table');
    const fnOf = (row: SourceTable['rows'][number]) => String(row[columns.indexOf(functions ?? '')] ?? '');
    // These two are what requests name a row by.
    const names = new Set([functions, key]);
    const all = rows.map((row, index) => ({ row, applies: verbs[index] ?? [] }));
    const seen = all.filter(({ row }) => this.maySee(user, fnOf(row), i));
    const shown = seen.map(({ row }) =>
      row.map((cell, index) => {
        const name = columns[index];
        if (typeof cell !== 'string' || names.has(name)) return cell;
        const part = name === errors ? 'error' : 'field';
        return this.redaction.value(cell, { part, of: { instance: i, fn: fnOf(row) }, most: MOST_CELL });
      }),
    );
    return {
      ...{ columns, rows: shown, opens },
      actions: seen.map(({ row, applies }) =>
        applies.filter((verb) => this.access.mayAct(user, verb, fnOf(row), i)),
      ),
      ...(key !== undefined && { key }),
      ...(functions !== undefined && { functions }),
      ...(total !== undefined && !isPartial && { total }),
      ...(next !== undefined && { next }),
    };
  }
}

function viewOf({ views }: SourceTables, view: unknown): string {
  const known = views.find((one) => one === view);
  if (known === undefined) throw ApiFailure.invalid('view', `one of ${views.join(', ')}`);
  return known;
}

function textOf(name: string, given: unknown): string {
  if (typeof given !== 'string' || given.length > MAX_PAGE)
    throw ApiFailure.invalid(name, `text of at most ${MAX_PAGE} characters, as a table gave it`);
  return given;
}
