import { createRequire } from 'node:module';

/** The one that builds the package, in the folder of tools. */
const { build } = createRequire(`${process.env.INTENTO_TOOLS}/`)('esbuild');

export function bundle(entry, outfile, options) {
  return build({ entryPoints: [entry], outfile, bundle: true, minify: true, logLevel: 'warning', ...options });
}
