/** The command of a job: `{id}` replaced everywhere, then split on spaces. No shell, no quotes. */
export function commandOf(template: string, id: number): string[] {
  return template.replaceAll('{id}', String(id)).split(' ').filter(Boolean);
}
