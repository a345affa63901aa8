/** What a flow is called among the followed jobs of a feed, whose ids are numbers. */
export function followedFlow(name: string): string {
  return `flow:${name}`;
}
