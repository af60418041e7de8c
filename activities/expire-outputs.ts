/**
 * One pass over what is kept for a time only: outputs (src/objects/outputs/retention.ts) and uploads (src/objects/uploads.ts),
 * inputs of tasks (src/tasks/lifecycle/erase.ts), responses (src/text/responses/), and the promotions that nobody seems to work on.
 */
import { ROUNDING_SECONDS } from '../src/objects/urls/signed-url.ts';
import { expireFiles } from '../src/objects/uploads.ts';
import { expireOutputs } from '../src/objects/outputs/retention.ts';
import { eraseOldInputs } from '../src/tasks/lifecycle/erase.ts';
import { deleteExpiredResponses } from '../src/text/responses/stored-responses.ts';
import { requestStalledPromotions } from '../src/tasks/lifecycle/storage-operations.ts';
import type { Activities, ExpireResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilStopped } from './heartbeat.ts';
import { passTools } from './passes.ts';

/** A create that was sent such a URL in its last moment has pinned the object by then. */
const ACCEPTING_SECONDS = 120;
const MS_PER_DAY = 86_400_000;
/** Rows of one statement: it holds their locks. */
const BATCH = 500;
/**
 * A pass over a backlog ends by itself after so long, with a batch of each kind at least; the next goes on where it ended.
 * It is well within its attempt of 50 s (workflows/activity-options.ts).
 */
const PASS_MS = 30_000;

/** @param passMs as long as batches are begun. */
export function createExpireOutputs(context: ActivityContext, passMs = PASS_MS): Activities['expireOutputs'] {
  const { config } = context;
  return () =>
    untilStopped(null, context.stopping, async (signal) => {
      const { database, isolate } = passTools(context, signal);
      const now = await context.clock.read();
      const urlGraceSeconds = config.urls.lifetimeSeconds + ROUNDING_SECONDS + ACCEPTING_SECONDS;
      const counts = { outputs: 0, files: 0, inputs: 0, responses: 0, requested: 0 };
      const endAt = performance.now() + passMs;
      const eachBatch = (workOn: (limit: number) => Promise<number>): Promise<number> =>
        inBatches({ signal, endAt }, workOn);
      const steps: Readonly<Record<keyof ExpireResult, () => Promise<number>>> = {
        outputs: () => eachBatch((limit) => expireOutputs(database, { now, urlGraceSeconds, limit })),
        files: () => eachBatch((limit) => expireFiles(database, { now, urlGraceSeconds, limit })),
        async inputs() {
          // Contract §4: `INPUT_RETENTION_DAYS` after its end a task's input is erased; 0 keeps it.
          if (config.inputRetentionDays === 0) return 0;
          const endedBefore = now - config.inputRetentionDays * MS_PER_DAY;
          return eachBatch((limit) => eraseOldInputs(database, endedBefore, limit));
        },
        responses: () => eachBatch((limit) => deleteExpiredResponses(database, { now, limit })),
        requested: () => requestStalledPromotions(database, now, isolate),
      };
      // One kind that cannot be worked on keeps no other from expiring.
      await isolate({
        kind: 'expiry',
        items: Object.keys(steps) as (keyof ExpireResult)[],
        idOf: (step) => step,
        async work(step) {
          counts[step] = await steps[step]();
        },
      });
      return counts;
    });
}

/** Works batch after batch until one is not full, or the time is over. @returns how many rows. */
async function inBatches(
  { signal, endAt }: { readonly signal: AbortSignal; readonly endAt: number },
  workOn: (limit: number) => Promise<number>,
): Promise<number> {
  let rows = 0;
  for (;;) {
    signal.throwIfAborted();
    const worked = await workOn(BATCH);
    rows += worked;
    if (worked < BATCH || performance.now() >= endAt) return rows;
  }
}
