/**
 * One pass over everything that is kept for a limited time: outputs (src/objects/outputs/outputs.ts) and uploads
 * (src/objects/uploads.ts), inputs of tasks (src/tasks/lifecycle/erase.ts), responses (src/text/responses/ and
 * src/tasks/create/awaited-responses.ts), pieces of files (src/tasks/record/output-pieces.ts), batches
 * (src/batches/batch-record.ts), records of text calls (src/text/money/prune-calls.ts) and the tasks themselves
 * (src/tasks/lifecycle/prune.ts). Promotions that seem abandoned are requested again.
 */
import { deleteOldBatches } from '../src/batches/batch-record.ts';
import { passTools } from '../src/limits/pass-tools.ts';
import { expireOutputs } from '../src/objects/outputs/outputs.ts';
import { deleteOldMultipartUploads } from '../src/objects/multipart-uploads.ts';
import { expireFiles, pruneFiles } from '../src/objects/uploads.ts';
import { ROUNDING_SECONDS } from '../src/objects/urls/signed-url.ts';
import { deleteOldTokens } from '../src/accounts/tokens.ts';
import { deleteOldResponses } from '../src/tasks/create/awaited-responses.ts';
import { eraseOldInputs } from '../src/tasks/lifecycle/erase.ts';
import { pruneTasks } from '../src/tasks/lifecycle/prune.ts';
import { deleteOldPieces } from '../src/tasks/record/output-pieces.ts';
import { requestStalledPromotions } from '../src/tasks/lifecycle/storage-operations.ts';
import { deleteLeftBatchCalls } from '../src/text/background/batch-calls.ts';
import { deleteEndedCalls } from '../src/text/background/call-record.ts';
import { deleteOldEvents } from '../src/text/background/event-log.ts';
import { pruneTextCalls } from '../src/text/money/prune-calls.ts';
import { deleteExpiredResponses } from '../src/text/responses/stored-responses.ts';
import type { Activities, ExpireResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilWorkerStops } from './heartbeat.ts';

/**
 * How many seconds after its expiry an object is deleted: a create request that received its URL at the last moment has
 * pinned the object by then.
 */
const ACCEPTING_SECONDS = 120;
const MS_PER_DAY = 86_400_000;
/** The maximum number of rows per statement, which holds their locks. */
const BATCH = 500;
/**
 * A pass over a backlog stops after this time, but not before one batch of each kind; the next pass continues where it
 * stopped. This is well within the activity's attempt of 50 s (workflows/activity-options.ts).
 */
const PASS_MS = 30_000;

/** @param passMs how long new batches are started. */
export function createExpireOutputs(context: ActivityContext, passMs = PASS_MS): Activities['expireOutputs'] {
  const { config, store, logger, metrics } = context;
  return () =>
    untilWorkerStops(context, async (signal) => {
      const { database, accountDatabase, isolate } = passTools(context, signal);
      const now = await context.clock.read();
      const urlGraceSeconds = config.urls.lifetimeSeconds + ROUNDING_SECONDS + ACCEPTING_SECONDS;
      const counts = { outputs: 0, files: 0, inputs: 0, responses: 0, requested: 0, textCalls: 0, tasks: 0 };
      const endAt = performance.now() + passMs;
      const eachBatch = (workOn: (limit: number) => Promise<number>): Promise<number> =>
        inBatches({ signal, endAt }, workOn);
      const steps: Readonly<Record<keyof ExpireResult, () => Promise<number>>> = {
        outputs: () => eachBatch((limit) => expireOutputs(database, { now, urlGraceSeconds, limit })),
        files: async () => {
          const expired = await eachBatch((limit) => expireFiles(database, { now, urlGraceSeconds, limit }));
          const uploads = await eachBatch((limit) => deleteOldMultipartUploads(database, { now, limit }));
          const pruned = await eachBatch((limit) => pruneFiles(database, { now, limit }));
          metrics.passes.rowsPruned('files', pruned);
          return expired + uploads + pruned;
        },
        async inputs() {
          // Contract §4: `INPUT_RETENTION_DAYS` after a task's end its input is erased; 0 keeps it.
          if (config.inputRetentionDays === 0) return 0;
          const endedBefore = now - config.inputRetentionDays * MS_PER_DAY;
          return eachBatch((limit) => eraseOldInputs(database, endedBefore, limit));
        },
        responses: async () => {
          const stored = await eachBatch((limit) => deleteExpiredResponses(database, { now, limit }));
          const awaited = await eachBatch((limit) => deleteOldResponses(database, limit));
          const pieces = await eachBatch((limit) => deleteOldPieces(database, limit));
          const tokens = await eachBatch((limit) => deleteOldTokens(database, { now, limit }));
          const batches = await eachBatch((limit) => deleteOldBatches(database, { now, limit }));
          const calls = await eachBatch((limit) => deleteEndedCalls(database, limit));
          const lines = await eachBatch((limit) => deleteLeftBatchCalls(database, limit));
          const events = await eachBatch((limit) => deleteOldEvents(database, limit));
          return stored + awaited + pieces + tokens + batches + calls + lines + events;
        },
        requested: () => requestStalledPromotions(database, now, isolate),
        // The last two, because they wait for the object store. Whatever the first has to do, the second has its time.
        async textCalls() {
          const retentionDays = config.textCallRetentionDays;
          if (retentionDays === 0) return 0;
          const pruned = await pruneTextCalls(database, {
            store,
            now,
            retentionDays,
            signal,
            endAt: Math.min(endAt, performance.now() + passMs / 3),
            onPruned: (count) => metrics.passes.rowsPruned('text_calls', count),
          });
          if (pruned > 0) logger.info({ calls: pruned }, 'text calls pruned');
          return pruned;
        },
        async tasks() {
          const { inputRetentionDays, taskRetentionDays: retentionDays } = config;
          if (retentionDays === 0) return 0;
          const keepsInputs = inputRetentionDays === 0;
          const pruned = await pruneTasks(database, {
            accountDatabase,
            store,
            now,
            retentionDays,
            keepsInputs,
            signal,
            endAt,
            onPruned: (count) => metrics.passes.rowsPruned('tasks', count),
          });
          if (pruned > 0) logger.info({ tasks: pruned }, 'tasks pruned');
          return pruned;
        },
      };
      // A kind that cannot be processed does not keep the others from expiring.
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

/** Processes batch after batch until one is not full or the time is over. @returns the number of rows. */
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
