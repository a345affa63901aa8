import type { Membership } from '../membership/membership.js';
import { DatabaseSetupError } from '../storage/errors.js';

/** Checks that the table has the column for handlers. @throws DatabaseSetupError, after the member has left */
export async function checkInput(member: Membership, input: string | undefined): Promise<void> {
  if (input === undefined || (await member.table.hasColumn(input))) return;
  await member.leave(false);
  throw new DatabaseSetupError(
    `The table has no column '${input}', which \`input\` of jobd() names. Add it, or name another.`,
  );
}
