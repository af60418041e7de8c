/**
 * Deletes from the object store what src/objects/outputs/sweep.ts says may be deleted. Deleting comes before writing it down, so
 * that a sweep which was killed is simply made again.
 */
import { deleteIdleBuckets } from '../src/limits/idle-buckets.ts';
import type { Pass, PassResult } from '../src/database/failing-items.ts';
import { readInstallationId } from '../src/database/migrate.ts';
import { unlessAborted } from '../src/domain/unless-aborted.ts';
import { assertAnswers, ownsStore } from '../src/objects/stores/store-owner.ts';
import { StoreUnavailableError } from '../src/objects/stores/store-unavailable-error.ts';
import type { StoreOperation } from '../src/objects/stores/store-unavailable-error.ts';
import { isOurKey, listDoomedObjects, listUnnamedKeys, markBytesDeleted } from '../src/objects/outputs/sweep.ts';
import type { Activities, SweepInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilStopped } from './heartbeat.ts';
import { passTools } from './passes.ts';
import type { PassTools } from './passes.ts';

/** A task that was being accepted while its input was deleted has pinned it by then. */
const DOOMED_AFTER_MS = 60_000;
/** Architecture, "Archiving really copies". No attempt lives as long. */
const UNNAMED_AFTER_MS = 24 * 60 * 60_000;
/** A budget that nobody used for an hour is full again, as one that is not there is. */
const IDLE_BUCKET_MS = 60 * 60_000;
/** Where objects of ours lie (activities/stage-files.ts, src/objects/uploads.ts). */
const PREFIXES = ['outputs/', 'files/'];
const BATCH = 200;
/**
 * A pass over what is gone ends by itself after so long; the next goes on where it ended. With one more deletion and one
 * more look at the store it is well within its attempt of 50 s (workflows/activity-options.ts).
 */
const PASS_MS = 30_000;
/** A deletion takes milliseconds; a server that does not answer is known by then. */
const DELETE_WITHIN_MS = 10_000;
/** Likewise a look at the store. */
const ANSWER_WITHIN_MS = 5_000;
/** A store that is broken in many places is not listed place by place. */
const MAX_UNREADABLE = 100;
/** Deletions at once: enough to hide the latency of a store, few enough to leave it air. */
const AT_ONCE = 8;

export function createSweepObjects(context: ActivityContext): Activities['sweepObjects'] {
  return ({ target }: SweepInput) =>
    untilStopped(null, context.stopping, async (signal) => {
      const tools = passTools(context, signal);
      const sweep = target === 'deleted' ? sweepDeleted : sweepUnnamed;
      const deleted = await sweep(context, tools, signal);
      if (deleted > 0) context.logger.info({ target, deleted }, 'objects were swept');
      return { deleted };
    });
}

/** The bytes of outputs and uploads that are gone; and the rate limits that nobody uses. */
async function sweepDeleted(context: ActivityContext, tools: PassTools, signal: AbortSignal): Promise<number> {
  const { database, isolate } = tools;
  const now = await context.clock.read();
  await isolate({
    kind: 'upkeep',
    items: ['rate_limits'],
    idOf: (step) => step,
    work: () => deleteIdleBuckets(database, now - IDLE_BUCKET_MS),
  });
  let deleted = 0;
  const endAt = performance.now() + PASS_MS;
  while (performance.now() < endAt) {
    signal.throwIfAborted();
    const objects = await listDoomedObjects(database, now - DOOMED_AFTER_MS, BATCH);
    if (objects.length === 0) return deleted;
    let marked = 0;
    const { done } = await deleteEach(context, tools, objects, {
      keyOf: ({ objectKey }) => objectKey,
      endAt,
      async onDone(gone) {
        marked = await markBytesDeleted(database, gone, now);
      },
    });
    deleted += marked;
    // Their records are locked: they would be listed again at once.
    if (done.length > 0 && marked === 0) return deleted;
  }
  return deleted;
}

/** What attempts left behind that came to nothing. */
async function sweepUnnamed(context: ActivityContext, tools: PassTools, signal: AbortSignal): Promise<number> {
  const { store } = context;
  const { database, isolate } = tools;
  const before = (await context.clock.read()) - UNNAMED_AFTER_MS;
  if (!(await ownsStore(store, await readInstallationId(database)))) {
    context.logger.warn({}, 'the store belongs to another installation: what no record names is left there');
    return 0;
  }
  let deleted = 0;
  let keys: string[] = [];
  const sweep = async (): Promise<void> => {
    const unnamed = await listUnnamedKeys(database, keys);
    keys = [];
    const { done } = await deleteEach(context, tools, unnamed, { keyOf: (key) => key });
    deleted += done.length;
  };
  const unreadable = new Map<string, Error>();
  const onUnreadable = (key: string, error: Error): void => {
    if (unreadable.size < MAX_UNREADABLE) unreadable.set(key, error);
  };
  for (const prefix of PREFIXES) {
    for await (const { key, modifiedAt } of store.list(prefix, { onUnreadable })) {
      signal.throwIfAborted();
      if (modifiedAt.getTime() > before || !isOurKey(key)) continue;
      keys.push(key);
      if (keys.length === BATCH) await sweep();
    }
  }
  await isolate({
    kind: 'object',
    items: [...unreadable],
    idOf: ([key]) => key,
    work: ([, error]) => Promise.reject(error),
  });
  await sweep();
  return deleted;
}

/** Deletes objects, each by itself. @throws {StoreUnavailableError} the store is away: the rest would fail as well. */
async function deleteEach<Item>(
  { store }: ActivityContext,
  { isolate }: PassTools,
  items: readonly Item[],
  pass: Pick<Pass<Item>, 'endAt' | 'onDone'> & { readonly keyOf: (item: Item) => string },
): Promise<PassResult<Item>> {
  const { keyOf, ...bounds } = pass;
  return isolate({
    ...bounds,
    kind: 'object',
    items,
    idOf: keyOf,
    work: (item) => within('delete', DELETE_WITHIN_MS, (signal) => store.delete(keyOf(item), { signal })),
    atOnce: AT_ONCE,
    requireSurroundings: () => within('check', ANSWER_WITHIN_MS, () => assertAnswers(store)),
  });
}

/** Waits only so long for the store. @throws {StoreUnavailableError} in vain, or what the work throws. */
async function within(
  operation: StoreOperation,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signal = AbortSignal.timeout(milliseconds);
  try {
    await unlessAborted(work(signal), signal);
  } catch (error) {
    throw error === signal.reason ? new StoreUnavailableError(operation, { cause: error }) : error;
  }
}
