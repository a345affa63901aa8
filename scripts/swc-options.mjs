/** How TypeScript is compiled to be run from its sources: in tests, samples, checks and benchmarks. As in tsconfig.json. */
export const swcOptions = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
};
