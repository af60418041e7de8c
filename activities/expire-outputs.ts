/**
 * One pass over what is kept for a time only: outputs (src/outputs/retention.ts) and uploads (src/files/uploads.ts),
 * inputs of tasks (src/tasks/erase.ts), responses (src/text/responses/), and the promotions that nobody seems to work on.
 */
import { Context } from '@temporalio/activity';
import { ROUNDING_SECONDS } from '../src/files/signed-url.ts';
import { expireFiles } from '../src/files/uploads.ts';
import { expireOutputs } from '../src/outputs/retention.ts';
import { eraseOldInputs } from '../src/tasks/erase.ts';
import { deleteExpiredResponses } from '../src/text/responses/stored-responses.ts';
import { requestStalledPromotions } from '../src/tasks/storage-operations.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

/** A create that was sent such a URL in its last moment has pinned the object by then. */
const ACCEPTING_SECONDS = 120;
const MS_PER_DAY = 86_400_000;
/** Rows of one statement: it holds their locks. */
const BATCH = 500;

export function createExpireOutputs(context: ActivityContext): Activities['expireOutputs'] {
  const { config, database } = context;
  return async () => {
    const now = await context.clock.read();
    const urlGraceSeconds = config.urls.lifetimeSeconds + ROUNDING_SECONDS + ACCEPTING_SECONDS;
    const outputs = await inBatches((limit) => expireOutputs(database, { now, urlGraceSeconds, limit }));
    const files = await expireFiles(database, { now, urlGraceSeconds });
    const inputs = await eraseInputs(context, now);
    const responses = await inBatches((limit) => deleteExpiredResponses(database, { now, limit }));
    const requested = await requestStalledPromotions(database, now);
    return { outputs, files, inputs, responses, requested };
  };
}

/** Contract §4: `INPUT_RETENTION_DAYS` after its end a task's input is erased; 0 keeps it. */
async function eraseInputs({ config, database }: ActivityContext, now: number): Promise<number> {
  if (config.inputRetentionDays === 0) return 0;
  const endedBefore = now - config.inputRetentionDays * MS_PER_DAY;
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
