/**
 * One pass over what is kept for a time only: outputs (src/outputs/retention.ts) and uploads (src/files/uploads.ts),
 * inputs of tasks (src/tasks/erase.ts), responses (src/text/responses/), and the promotions that nobody seems to work on.
 */
import { Context } from '@temporalio/activity';
import type { Queryable } from '../src/database/database.ts';
import { ROUNDING_SECONDS } from '../src/files/signed-url.ts';
import { expireFiles } from '../src/files/uploads.ts';
import { expireOutputs } from '../src/outputs/retention.ts';
import { eraseOldInputs } from '../src/tasks/erase.ts';
import { deleteExpiredResponses } from '../src/text/responses/stored-responses.ts';
import { requestStalledPromotions } from '../src/tasks/storage-operations.ts';
import type { Activities, ExpireResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passTools } from './passes.ts';

/** A create that was sent such a URL in its last moment has pinned the object by then. */
const ACCEPTING_SECONDS = 120;
const MS_PER_DAY = 86_400_000;
/** Rows of one statement: it holds their locks. */
const BATCH = 500;

export function createExpireOutputs(context: ActivityContext): Activities['expireOutputs'] {
  const { config } = context;
  const { database, isolate } = passTools(context);
  return async () => {
    const now = await context.clock.read();
    const urlGraceSeconds = config.urls.lifetimeSeconds + ROUNDING_SECONDS + ACCEPTING_SECONDS;
    const counts = { outputs: 0, files: 0, inputs: 0, responses: 0, requested: 0 };
    const steps: Readonly<Record<keyof ExpireResult, () => Promise<number>>> = {
      outputs: () => inBatches((limit) => expireOutputs(database, { now, urlGraceSeconds, limit })),
      files: () => expireFiles(database, { now, urlGraceSeconds }),
      inputs: () => eraseInputs(database, config.inputRetentionDays, now),
      responses: () => inBatches((limit) => deleteExpiredResponses(database, { now, limit })),
      requested: () => requestStalledPromotions(database, now),
    };
    // One kind that cannot be worked on keeps no other from expiring.
    await isolate({
      kind: 'expiry',
      items: Object.keys(steps) as (keyof ExpireResult)[],
      idOf: (step) => step,
      async work(step) {
        counts[step] = await steps[step]();
      },
      beforeEach: () => Context.current().heartbeat(),
    });
    return counts;
  };
}

/** Contract §4: `INPUT_RETENTION_DAYS` after its end a task's input is erased; 0 keeps it. */
async function eraseInputs(database: Queryable, retentionDays: number, now: number): Promise<number> {
  if (retentionDays === 0) return 0;
  const endedBefore = now - retentionDays * MS_PER_DAY;
  return inBatches((limit) => eraseOldInputs(database, endedBefore, limit));
}

/** Works batch after batch until one is not full, with a heartbeat before each. @returns how many rows. */
async function inBatches(workOn: (limit: number) => Promise<number>): Promise<number> {
  let rows = 0;
  for (let worked = BATCH; worked === BATCH; rows += worked) {
    Context.current().heartbeat();
    worked = await workOn(BATCH);
  }
  return rows;
}
