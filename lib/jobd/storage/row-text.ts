import { defined } from '../../job/defined.js';
import { fitBytes } from '../vocabulary/output-limit.js';
import type { Database } from './database.js';
import type { JobsTable } from './schema.js';

type Columns = Partial<JobsTable>;

/** Bytes that the smallest text columns hold: TEXT, and a VARCHAR of 255. */
const TEXT_BYTES = 60_000;
const VARCHAR_BYTES = 250;
/** A statement has more than its texts, and quoting may double them. */
const PACKET_SLACK_BYTES = 4096;
const PACKET_SHARE = 4;

const REPLACEMENT = '\uFFFD';

/** Columns with texts cut to what this server takes in one statement. */
export function fitServer(columns: Columns, { dialect, traits }: Database): Columns {
  const limit = (traits.maxPacket - PACKET_SLACK_BYTES) / PACKET_SHARE;
  return mapTexts(columns, (text) => {
    // Only MySQL keeps NUL: PostgreSQL refuses it, SQLite's driver would end the text there.
    const kept = dialect === 'mysql' ? text : text.replaceAll('\0', REPLACEMENT);
    return fitBytes(kept, limit);
  });
}

/** Simpler and simpler texts for a row that the table refuses; it must take the last one. */
export function plainerTexts(columns: Columns): Columns[] {
  const threeBytes = mapTexts(columns, (text) => text.replace(/[\u{10000}-\u{10FFFF}]/gu, REPLACEMENT));
  const ascii = mapTexts(columns, (text) => text.replace(/[^\t\n\r\x20-\x7E]/gu, '?'));
  return [
    threeBytes,
    ascii,
    mapTexts(ascii, (text) => fitBytes(text, TEXT_BYTES)),
    mapTexts(ascii, (text) => fitBytes(text, VARCHAR_BYTES)),
    { ...columns, stdout: null, stderr: null, return_code: null, sig: null },
  ];
}

function mapTexts(columns: Columns, map: (text: string) => string): Columns {
  const { stdout, stderr } = columns;
  return defined({
    ...columns,
    stdout: stdout && map(stdout),
    stderr: stderr && map(stderr),
  });
}
