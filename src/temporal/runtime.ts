/**
 * Temporal's runtime in our processes: its log lines are written as ours, those of its native part too, which would write
 * to the terminal in a form and colours of its own; signals are left to us, and its own metrics go with ours. Its worker
 * warns of every failed activity attempt; those we log ourselves (activities/failures.ts), so its lines go one level down.
 */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from '../telemetry/log.ts';

/** The SDK's exporter is on this machine, in this process: what takes longer is stuck. */
const READ_WITHIN_MS = 2_000;

export interface TemporalRuntime {
  /** What the SDK counts, in Prometheus' text format; empty where it is not asked to, or cannot be read. Never fails. */
  readMetrics(): Promise<string>;
  /**
   * To be told why a connection could not be made. The SDK ends its runtime with the last connection and starts it again
   * with the next one, on the same port for its metrics, which another program may have by then: it gets another. Never
   * fails.
   */
  recover(error: unknown): Promise<void>;
  /**
   * Ends it where the last connection has not: a process that ends before its first one would be kept by it for ever.
   * Nothing may be connected any more.
   */
  close(): Promise<void>;
}

/** The SDK's lines as ours. Its errors go where ours go: elsewhere they would be written as an empty object. */
export function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { error, ...temporal } = meta ?? {};
    const fields = error === undefined ? { temporal } : { temporal, err: error as unknown };
    if (level === 'ERROR') logger.error(fields, message);
    else if (level === 'WARN') logger.info(fields, message);
    else logger.debug(fields, message);
  });
}

/** Once per process, before the first connection. The SDK's own signal handlers would compete with ours. */
export async function installTemporalRuntime(logger: Logger, hasMetrics: boolean): Promise<TemporalRuntime> {
  let port: number | undefined;
  let installed: Runtime | undefined;
  const install = async (): Promise<void> => {
    const free = hasMetrics ? await findFreePort() : undefined;
    installed = Runtime.install({
      logger: temporalLogger(logger),
      shutdownSignals: [],
      telemetryOptions: {
        logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
        ...(free === undefined ? {} : { metrics: { prometheus: exporterAt(free) } }),
      },
    });
    port = free;
  };
  await install();
  return {
    async readMetrics() {
      if (port === undefined) return '';
      try {
        const signal = AbortSignal.timeout(READ_WITHIN_MS);
        const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal });
        return await response.text();
      } catch (err) {
        // Not there while there is no connection to Temporal.
        logger.debug({ err }, "the metrics of Temporal's SDK could not be read");
        return '';
      }
    },
    async recover(error) {
      if (!(error instanceof Error) || !/prometheus metrics exporter/i.test(error.message)) return;
      logger.info("the port of the metrics of Temporal's SDK is taken by now: it gets another");
      try {
        await install();
      } catch (err) {
        logger.warn({ err }, "Temporal's runtime could not be set up anew");
      }
    },
    async close() {
      await installed?.shutdown();
    },
  };
}

/** Names and units as Prometheus wants them. */
function exporterAt(port: number) {
  return {
    bindAddress: `127.0.0.1:${port}`,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
}

/** The SDK tells nobody which port it got, so it cannot be asked for any. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
