/**
 * What every thread of a pool is started with: the options that the main thread has (source maps, what tests load
 * first), and modules loaded by `import` only. The pool's own code tries `require` first, and Node 20 (24 does not) ends the whole
 * process if a thread is terminated while `require` links an ES module ("IsGraphAsync must be used on an instantiated
 * module"): a process that was asked to stop while its threads started would not stop in order.
 */
export const THREAD_ARGUMENTS: readonly string[] = [...process.execArgv, '--no-experimental-require-module'];
