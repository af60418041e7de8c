/**
 * Imported by tests whose process runs a worker, which logs its start and its end otherwise. A runtime that exists
 * keeps its logger: another file that shares the process may have connected before this one was loaded.
 */
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime } from '@temporalio/worker';

try {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
} catch (error) {
  if (!(error instanceof IllegalStateError)) throw error;
}
