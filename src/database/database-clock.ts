/**
 * The clock of the database, as a process sees it. Everything that charges, expires or deletes uses this clock and
 * never that of the machine, so that all processes agree and a machine whose clock is wrong does no harm. Between two
 * measurements it advances by the steady clock of the process, which cannot be set.
 *
 * A process whose own clock is off by more than a bound reports it: other machines (Temporal, providers, receivers of
 * callbacks) still see that clock.
 */
import type { Logger } from '../telemetry/log.ts';
import type { Queryable, Statement } from './database.ts';

const selectTime: Statement = {
  name: 'select_database_time',
  text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
};

/**
 * The time of the database at this moment, in milliseconds since 1970.
 *
 * @throws {DatabaseUnavailableError}
 */
export async function readDatabaseTime(database: Queryable): Promise<number> {
  const [row] = await database.query<{ ms: number }>(selectTime);
  if (row === undefined) throw new Error('the database did not return its time');
  return Math.floor(row.ms);
}

export interface DatabaseClock {
  /**
   * The time of the database in milliseconds since 1970, as last measured; before the first measurement that of the
   * machine.
   */
  now(): number;
  /** How far the clock of this process is ahead, in milliseconds, negative: behind; undefined: not measured yet. */
  skewMs(): number | undefined;
  /** False: the clock of this process was found off by more than the bound, and not by less than half of it since. */
  isRight(): boolean;
  /** Queries the database for its time. @returns milliseconds since 1970. @throws {DatabaseUnavailableError} */
  read(): Promise<number>;
  /** Measures at once. @returns whether the database responded. */
  measure(): Promise<boolean>;
  /**
   * Resolves when the clock of this process is right, or is not; at once if that is so already, or the signal fires.
   */
  waitUntil(isRight: boolean, signal: AbortSignal): Promise<void>;
  /** Measures every few seconds from now on. */
  start(): void;
  /** Waits for a measurement in progress. */
  close(): Promise<void>;
}

export interface DatabaseClockOptions {
  readonly database: Queryable;
  readonly logger: Logger;
  /** How far the clock of the process may be off; 0: it is never found wrong. It is right again at half of that. */
  readonly maxSkewMs: number;
  /** Milliseconds since 1970, as the machine has it. */
  readonly systemClock?: () => number;
  /** Milliseconds since any moment; never set. */
  readonly steadyClock?: () => number;
}

/**
 * The interval at which the clocks are compared, in milliseconds: a clock that was set wrong is noticed within this
 * time.
 */
const MEASURE_EVERY_MS = 5_000;
/**
 * Of the bound: within this a clock that was wrong is right again. At the bound itself, one that drifts along it
 * would be right and wrong by turns, with the error of each measurement, and each change shuts a worker down.
 */
const RIGHT_AGAIN_SHARE = 0.5;

export function createDatabaseClock({
  database,
  logger,
  maxSkewMs,
  systemClock = Date.now,
  steadyClock = () => performance.now(),
}: DatabaseClockOptions): DatabaseClock {
  /** The offset of the steady clock. */
  let offsetMs: number | undefined;
  let skewMs: number | undefined;
  let isRight = true;
  let timer: NodeJS.Timeout | undefined;
  let measuring: Promise<boolean> | undefined;
  const waiting = new Set<() => void>();

  async function measure(): Promise<boolean> {
    const requestedAt = steadyClock();
    let databaseTime;
    try {
      databaseTime = await readDatabaseTime(database);
    } catch (err) {
      logger.debug({ err }, 'the time of the database could not be read');
      return false;
    }
    const answeredAt = steadyClock();
    // Somewhere between request and response: the previous result is retained if it agrees with that.
    const errorMs = (answeredAt - requestedAt) / 2;
    const measured = databaseTime - (requestedAt + answeredAt) / 2;
    if (offsetMs === undefined || Math.abs(measured - offsetMs) > errorMs) offsetMs = measured;
    skewMs = systemClock() - (answeredAt + offsetMs);
    update(maxSkewMs === 0 || isWithin(Math.abs(skewMs), errorMs));
    return true;
  }

  /** Where the error could make a difference, the previous result stays: a slow response is no reason to change it. */
  function isWithin(offMs: number, errorMs: number): boolean {
    if (isRight) return offMs - errorMs <= maxSkewMs;
    return offMs <= maxSkewMs * RIGHT_AGAIN_SHARE && offMs + errorMs <= maxSkewMs;
  }

  function update(isRightNow: boolean): void {
    if (isRightNow === isRight) return;
    isRight = isRightNow;
    const facts = { skewSeconds: Math.round((skewMs ?? 0) / 100) / 10, maxSkewSeconds: maxSkewMs / 1000 };
    if (isRight) logger.info(facts, 'clock of this process agrees with the database again');
    else logger.error(facts, 'the clock of this process is wrong: set it right; until then the process is not ready');
    for (const wake of waiting) wake();
  }

  const measureOnce = (): Promise<boolean> => {
    measuring ??= measure().finally(() => {
      measuring = undefined;
    });
    return measuring;
  };

  return {
    now: () => (offsetMs === undefined ? systemClock() : Math.floor(steadyClock() + offsetMs)),
    skewMs: () => skewMs,
    isRight: () => isRight,
    read: () => readDatabaseTime(database),
    measure: measureOnce,
    async waitUntil(wanted, signal) {
      while (isRight !== wanted && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            signal.removeEventListener('abort', wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener('abort', wake);
        });
      }
    },
    start() {
      timer ??= setInterval(() => void measureOnce(), MEASURE_EVERY_MS).unref();
      void measureOnce();
    },
    async close() {
      clearInterval(timer);
      await measuring;
    },
  };
}
