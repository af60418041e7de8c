/** How far the clock of a process deviates from that of the database, read at each scrape. */
import { Gauge } from 'prom-client';
import type { DatabaseClock } from '../database/database-clock.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export function registerClockGauges(
  { registry }: Pick<Metrics, 'registry'>,
  clock: Pick<DatabaseClock, 'skewMs' | 'isRight'>,
): void {
  const skew = new Gauge({
    name: 'darkroom_clock_skew_seconds',
    help: 'How far the clock of this process is ahead of that of the database; negative: behind',
    registers: [registry],
    collect(): void {
      const skewMs = clock.skewMs();
      // An unknown value is not exported, not even as 0.
      if (skewMs === undefined) skew.remove();
      else skew.set(skewMs / 1000);
    },
  });
  const wrong = new Gauge({
    name: 'darkroom_clock_wrong',
    help: 'Whether the clock of this process is off by more than CLOCK_SKEW_SECONDS: it is not ready then',
    registers: [registry],
    collect(): void {
      wrong.set(clock.isRight() ? 0 : 1);
    },
  });
}
