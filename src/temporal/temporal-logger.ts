/**
 * Temporal's own log lines, written as ours. Its worker warns of every failed activity attempt; those we log ourselves
 * (activities/failures.ts), so its lines go one level down.
 */
import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from '../telemetry/log.ts';

export function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const fields = { temporal: meta };
    if (level === 'ERROR') logger.error(fields, message);
    else if (level === 'WARN') logger.info(fields, message);
    else logger.debug(fields, message);
  });
}
