/**
 * Temporal's runtime in our processes: its log lines are written in our format, including those of its native part,
 * which would otherwise write to the terminal in its own format and colours; signals are left to us, and its own
 * metrics are exposed with ours. Its worker logs a warning for every failed activity attempt; we log those ourselves
 * (activities/failures.ts), so its lines go one level down.
 */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from '../telemetry/log.ts';

/** The SDK's exporter is on this machine, in this process: an exporter that takes longer is stuck. */
const READ_WITHIN_MS = 2_000;

export interface TemporalRuntime {
  /** The SDK's metrics, in Prometheus' text format; empty if they are not enabled, or cannot be read. Never fails. */
  readMetrics(): Promise<string>;
  /**
   * Must be called with the error when a connection could not be made. The SDK ends its runtime with the last
   * connection and starts it again with the next one, on the same port for its metrics, which another program may use
   * by then: in that case it gets another port. Never fails.
   */
  recover(error: unknown): Promise<void>;
  /**
   * Ends the runtime if the last connection has not: it would keep a process alive that ends before its first
   * connection. There must be no connection any more.
   */
  close(): Promise<void>;
}

/**
 * Writes the SDK's lines to our log. Its errors are written to the field of our own: in any other they would appear as
 * an empty object.
 */
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
        // Not available while there is no connection to Temporal.
        logger.debug({ err }, "the metrics of Temporal's SDK could not be read");
        return '';
      }
    },
    async recover(error) {
      if (!(error instanceof Error) || !/prometheus metrics exporter/i.test(error.message)) return;
      logger.info("the port of the metrics of Temporal's SDK is taken; using another");
      try {
        await install();
      } catch (err) {
        logger.warn({ err }, "recreating Temporal's runtime failed");
      }
    },
    async close() {
      await installed?.shutdown();
    },
  };
}

/** Names and units in the form that Prometheus expects. */
function exporterAt(port: number) {
  return {
    bindAddress: `127.0.0.1:${port}`,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
}

/** The SDK does not report which port it got, so it cannot be configured to pick any. */
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
