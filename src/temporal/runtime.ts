/**
 * Temporal's runtime in our processes: its log lines are written as ours, and signals are left to us. Its worker warns of every failed activity attempt; those we log ourselves
 * (activities/failures.ts), so its lines go one level down.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from '../telemetry/log.ts';

function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const fields = { temporal: meta };
    if (level === 'ERROR') logger.error(fields, message);
    else if (level === 'WARN') logger.info(fields, message);
    else logger.debug(fields, message);
  });
}

/** Once per process, before the first connection. The SDK's own signal handlers would compete with ours. */
export function installTemporalRuntime(logger: Logger): void {
  Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
}
