/** Node's hooks for suites that share a process: what jest.config.mjs maps for the others, beside scripts/typescript.mjs. */
const root = new URL('../../../', import.meta.url).href;
const globals = new URL('./globals.mjs', import.meta.url).href;

/** @type {import('node:module').ResolveHook} */
export function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return { url: globals, format: 'module', shortCircuit: true };
  const { parentURL = '' } = context;
  if (!parentURL.startsWith(root) || parentURL.includes('/node_modules/')) return next(specifier, context);
  const own = /^nestjs-gearmonkey(?:\/(\w+))?$/.exec(specifier);
  if (own) return next(`${root}lib/${own[1] ? `${own[1]}/` : ''}index.ts`, context);
  return next(specifier, context);
}
