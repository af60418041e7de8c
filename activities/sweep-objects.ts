/**
 * Deletes from the object store what src/objects/outputs/sweep.ts says may be deleted. The deletion comes before its
 * record, so that a sweep that was killed is simply repeated.
 */
import type { Pass, PassResult } from '../src/database/failing-items.ts';
import { readInstallationId } from '../src/database/migrate.ts';
import { unlessAborted } from '../src/domain/waits.ts';
import { deleteIdleBuckets } from '../src/limits/leased-rate-limiter.ts';
import { passTools } from '../src/limits/pass-tools.ts';
import type { PassTools } from '../src/limits/pass-tools.ts';
import { isOurKey, listDoomedObjects, listUnnamedKeys, markBytesDeleted } from '../src/objects/outputs/sweep.ts';
import { assertAnswers, readOwner } from '../src/objects/stores/claimed-store.ts';
import { StoreUnavailableError } from '../src/objects/stores/object-store.ts';
import type { StoreOperation } from '../src/objects/stores/object-store.ts';
import type { Activities, SweepInput, SweepPart } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt, untilWorkerStops } from './heartbeat.ts';

/**
 * The time between the deletion of an object's record and that of its bytes, in milliseconds: a task that was being
 * accepted meanwhile has pinned the object by then.
 */
const DOOMED_AFTER_MS = 60_000;
/**
 * The age from which an unreferenced object is deleted, in milliseconds: longer than any attempt takes (architecture,
 * "Archiving really copies").
 */
const UNNAMED_AFTER_MS = 24 * 60 * 60_000;
/**
 * The idle time after which the row of a rate limit is deleted, in milliseconds. Its bucket is full again by then, and
 * a missing row counts as a full bucket.
 */
const IDLE_BUCKET_MS = 60 * 60_000;
/**
 * Prefixes of our own objects (src/generation/stage-files.ts, src/objects/uploads.ts, src/objects/archive.ts), which
 * together are all of them: ids end with a digit of Crockford's base 32. Each is swept as a whole, in this order.
 */
const PREFIXES = [
  ...['outputs/', 'files/'].flatMap((directory) =>
    [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'].map((character) => directory + character),
  ),
  'archive/tasks/',
  'archive/text-calls/',
];
/**
 * An activity begins no other prefix after this time, of the 50 minutes that an attempt has
 * (workflows/activity-options.ts).
 */
const UNNAMED_MS = 20 * 60_000;
const BATCH = 200;
/**
 * A pass over deleted objects stops after this time; the next one continues where it stopped. With one more deletion
 * and one more check of the store this is well within the activity's attempt of 50 s (workflows/activity-options.ts).
 */
const PASS_MS = 30_000;
/** The time limit of one deletion, in milliseconds. It usually takes some milliseconds. */
const DELETE_WITHIN_MS = 10_000;
/** The time limit of a check of the object store, in milliseconds. */
const ANSWER_WITHIN_MS = 5_000;
/** The maximum number of unreadable objects that are reported individually. */
const MAX_UNREADABLE = 100;
/** The number of concurrent deletions: enough to hide the latency of a store, few enough not to overload it. */
const AT_ONCE = 8;

export function createSweepObjects(context: ActivityContext): Activities['sweepObjects'] {
  return ({ target, after }: SweepInput) =>
    untilWorkerStops(context, async (signal) => {
      const tools = passTools(context, signal);
      const result =
        target === 'deleted'
          ? { deleted: await sweepDeleted(context, tools, signal) }
          : await sweepUnnamed(context, tools, signal, after);
      const { deleted } = result;
      if (deleted > 0) context.logger.info({ target, deleted }, 'objects swept');
      return result;
    });
}

/** Deletes the bytes of deleted outputs and uploads, and rate limits that are no longer used. */
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

/**
 * Deletes what failed attempts left behind, prefix by prefix. The last prefix that was swept is attached to the
 * heartbeats, for the next attempt to continue.
 */
async function sweepUnnamed(
  context: ActivityContext,
  tools: PassTools,
  signal: AbortSignal,
  after: string | undefined,
): Promise<SweepPart> {
  const { store } = context;
  const before = (await context.clock.read()) - UNNAMED_AFTER_MS;
  if ((await readOwner(store)) !== (await readInstallationId(tools.database))) {
    context.logger.warn({}, 'store is not marked as that of this installation; not deleting its unreferenced objects');
    return { deleted: 0 };
  }
  const attempt = currentAttempt(context);
  let swept = sweptBefore(attempt.earlierDetails) ?? after;
  const endAt = performance.now() + UNNAMED_MS;
  let deleted = 0;
  for (const prefix of PREFIXES.slice(swept === undefined ? 0 : PREFIXES.indexOf(swept) + 1)) {
    if (performance.now() >= endAt) return { deleted, ...(swept === undefined ? {} : { next: swept }) };
    deleted += await sweepPrefix(context, tools, { prefix, before, signal });
    swept = prefix;
    attempt.heartbeat({ swept });
  }
  return { deleted };
}

/** @returns the last prefix that an earlier attempt swept, if there was one. */
function sweptBefore(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('swept' in details)) return undefined;
  return typeof details.swept === 'string' ? details.swept : undefined;
}

/** @param sweep.before milliseconds since 1970: younger objects may belong to an attempt. @returns how many it deleted. */
async function sweepPrefix(
  context: ActivityContext,
  tools: PassTools,
  { prefix, before, signal }: { readonly prefix: string; readonly before: number; readonly signal: AbortSignal },
): Promise<number> {
  let deleted = 0;
  let keys: string[] = [];
  const sweep = async (): Promise<void> => {
    const unnamed = await listUnnamedKeys(tools.database, keys);
    keys = [];
    const { done } = await deleteEach(context, tools, unnamed, { keyOf: (key) => key });
    deleted += done.length;
  };
  const unreadable = new Map<string, Error>();
  const onUnreadable = (key: string, error: Error): void => {
    if (unreadable.size < MAX_UNREADABLE) unreadable.set(key, error);
  };
  for await (const { key, modifiedAt } of context.store.list(prefix, { onUnreadable })) {
    signal.throwIfAborted();
    if (modifiedAt.getTime() > before || !isOurKey(key)) continue;
    keys.push(key);
    if (keys.length === BATCH) await sweep();
  }
  await tools.isolate({
    kind: 'object',
    items: [...unreadable],
    idOf: ([key]) => key,
    work: ([, error]) => Promise.reject(error),
  });
  await sweep();
  return deleted;
}

/**
 * Deletes objects, each by itself.
 *
 * @throws {StoreUnavailableError} the store is unavailable: the rest would fail as well.
 */
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

/** Limits the wait for the store. @throws {StoreUnavailableError} the time is over. Also whatever the work throws. */
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
