/** Everything that our processes register, registered in the same way. */
import { createServer } from 'node:http';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { openDatabase } from '../../src/database/database.ts';
import {
  registerClockGauges,
  registerApiGauges,
  registerProcessGauges,
  registerWorkerGauges,
} from '../../src/processes/metrics.ts';

/** The names of all metrics of an api and a worker except those of Temporal's SDK, with their types. */
export async function everyMetric(): Promise<ReadonlyMap<string, string>> {
  const metrics = createMetrics();
  const database = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 2 }, silentLogger());
  registerProcessGauges(metrics, database);
  registerApiGauges(metrics, { server: createServer(), eventStreams: () => 0 });
  registerWorkerGauges(metrics, () => new Map());
  registerClockGauges(metrics, { skewMs: () => 0, isRight: () => true });
  const all = await metrics.registry.getMetricsAsJSON();
  await database.close();
  return new Map(all.map(({ name, type }) => [name, String(type)]));
}
