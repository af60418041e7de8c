/** Imported by tests whose process runs a worker, which logs its start and its end otherwise. */
import { DefaultLogger, Runtime } from '@temporalio/worker';

Runtime.install({ logger: new DefaultLogger('ERROR') });
