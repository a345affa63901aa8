/** Jest's `globalTeardown`. */
export default async function stopServers() {
  await Promise.all(globalThis.serversOfTests.map((server) => server.stop()));
}
