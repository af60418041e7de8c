/**
 * The caps of upstreams that are in force, for all workers (slots.ts). The API processes publish them,
 * because they have the model files: a task has the definition of the day on which it was accepted, and if each task
 * used its own, a raised cap would not help the tasks that wait, and they would exceed a lowered one. The caps are
 * published again every few seconds, so that a changed file takes effect soon, and a wrong cap is corrected.
 *
 * An upstream has one cap: if its models specify different numbers, the smallest applies, also to models that specify
 * none. If API processes have different model files, as while they are replaced one by one, the one that loaded its
 * files last takes precedence, for as long as it runs.
 */
import type { Catalogue } from '../catalogue/catalogue.ts';
import { LockTimeoutError } from '../database/database.ts';
import type { Queryable, Statement } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';
import { capsOf } from './upstream-caps.ts';

const PUBLISH_EVERY_MS = 10_000;
/**
 * The number of seconds after which published limits are ignored, because their API process must have ended: six
 * publications may fail before that.
 */
const BELIEVED_SECONDS = 60;

/**
 * The longest wait for one row, in milliseconds. Rows that the statement has already written stay locked while it
 * waits, and block their upstreams.
 */
const ROW_WAIT_MS = 200;

/** Upstreams without a cap are written too, those of text among them: so operators see every upstream that is named. */
const publish: Statement = {
  name: 'publish_upstream_caps',
  text: `INSERT INTO upstream_states AS s (upstream, cap, cap_since, cap_published_at)
         SELECT t.upstream, t.cap, to_timestamp($3::float8 / 1000), now()
           FROM unnest($1::text[], $2::integer[]) AS t (upstream, cap)
          WHERE (SELECT set_config('lock_timeout', '${ROW_WAIT_MS}', true)) IS NOT NULL
          ORDER BY t.upstream
         ON CONFLICT (upstream) DO UPDATE
            SET cap = excluded.cap, cap_since = excluded.cap_since, cap_published_at = excluded.cap_published_at
          WHERE s.cap_since IS NULL OR s.cap_since <= excluded.cap_since
             OR s.cap_published_at < now() - make_interval(secs => ${BELIEVED_SECONDS})`,
};

/**
 * Puts the caps in force, unless those of newer models are published. If the row of one upstream stays locked, the
 * caps of all others are still published.
 *
 * @param caps by upstream, the smallest first, as models have them; none: any number of jobs.
 * @param since when those models were loaded: milliseconds since 1970.
 * @throws {LockTimeoutError} a row was locked.
 */
export async function publishCaps(
  database: Queryable,
  caps: ReadonlyMap<string, readonly number[]>,
  since: number,
): Promise<void> {
  if (caps.size === 0) return;
  const smallest = [...caps.values()].map(([cap]) => cap ?? null);
  try {
    await database.query(publish, [[...caps.keys()], smallest, since]);
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    if (caps.size > 1) await publishOneByOne(database, caps, since);
    throw error;
  }
}

/** Skips those whose rows stay locked. */
async function publishOneByOne(
  database: Queryable,
  caps: ReadonlyMap<string, readonly number[]>,
  since: number,
): Promise<void> {
  for (const one of caps) {
    await publishCaps(database, new Map([one]), since).catch((error: unknown) => {
      if (!(error instanceof LockTimeoutError)) throw error;
    });
  }
}

/**
 * Publishes the caps of a catalogue, now and as long as the process runs. A failed publication is retried the next
 * time.
 */
export async function startPublishingCaps(dependencies: {
  readonly database: Queryable;
  readonly catalogue: Pick<Catalogue, 'models' | 'state'>;
  readonly logger: Logger;
  readonly everyMs?: number;
}): Promise<{ close(): Promise<void> }> {
  const { database, catalogue, logger, everyMs = PUBLISH_EVERY_MS } = dependencies;
  let lookedAt: number | undefined;

  const publishOnce = async (): Promise<void> => {
    const { since } = catalogue.state();
    const caps = capsOf(catalogue.models);
    if (since !== lookedAt) warnOfDifferences(caps, logger);
    lookedAt = since;
    try {
      await publishCaps(database, caps, since);
    } catch (err) {
      logger.warn({ err }, 'publishing the concurrency limits of upstreams failed; retrying');
    }
  };
  await publishOnce();
  let publishing = Promise.resolve();
  const timer = setInterval(() => {
    publishing = publishOnce();
  }, everyMs).unref();

  return {
    async close() {
      clearInterval(timer);
      await publishing;
    },
  };
}

function warnOfDifferences(caps: ReadonlyMap<string, readonly number[]>, logger: Logger): void {
  for (const [upstream, numbers] of caps) {
    if (numbers.length > 1) {
      logger.warn({ upstream, caps: numbers }, 'models declare different limits for an upstream; the smallest applies');
    }
  }
}
