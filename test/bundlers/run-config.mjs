/** Bundles as `webpack` or `rspack` on the command line would: node run-config.mjs PACKAGE CONFIG */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [name, config] = process.argv.slice(2);
const bundler = createRequire(import.meta.url)(name === 'rspack' ? '@rspack/core' : 'webpack');
const { default: options } = await import(pathToFileURL(resolve(config)).href);
const compiler = bundler[name](options);
compiler.run((error, stats) => {
  if (error) throw error;
  console.log(stats.toString({ colors: false, modules: false }));
  if (stats.hasErrors()) process.exitCode = 1;
  compiler.close(() => undefined);
});
