/** The command-line options of Node with which the threads of pools are started. */
import { parseArgs } from 'node:util';

/**
 * Those of the process that a thread needs: source maps, and what is loaded first. A thread does not start with an
 * option for V8 or for the whole process, such as `--max-old-space-size`, and Node 24 passes such options to every
 * process of its test runner.
 */
const INHERITED = {
  'enable-source-maps': { type: 'boolean' },
  conditions: { type: 'string', short: 'C', multiple: true },
  import: { type: 'string', multiple: true },
  require: { type: 'string', short: 'r', multiple: true },
} as const;

/** @param processArguments as in `process.execArgv`. */
export function threadArguments(processArguments: readonly string[]): readonly string[] {
  const { tokens } = parseArgs({ args: [...processArguments], options: INHERITED, strict: false, tokens: true });
  const inherited = tokens.flatMap((token) => {
    if (token.kind !== 'option' || !Object.hasOwn(INHERITED, token.name)) return [];
    return [token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`];
  });
  // The pool's own code tries `require` first, and Node 20 (24 does not) ends the whole process if a thread is
  // terminated while `require` links an ES module ("IsGraphAsync must be used on an instantiated module"): a process
  // that is stopped while its threads start would not shut down in order.
  return [...inherited, '--no-experimental-require-module'];
}

export const THREAD_ARGUMENTS = threadArguments(process.execArgv);
