/**
 * What every thread of a pool is started with: the options that the main thread has (source maps, what tests load
 * first), and modules loaded by `import` only. The pool's own code tries `require` first, and Node 20 (24 does not) ends the whole
 * process if a thread is terminated while `require` links an ES module ("IsGraphAsync must be used on an instantiated
 * module"): a process that is stopped while its threads start would not shut down in order.
 */
export const THREAD_ARGUMENTS: readonly string[] = [...process.execArgv, '--no-experimental-require-module'];
