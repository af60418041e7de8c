/**
 * The use case behind `POST /tasks:batch`: many creates in one request (contract §2.7). Each item is answered as if it
 * had come alone and after those before it; all that are accepted are accepted by one transaction.
 */
import type { Caller } from '../../accounts/authenticate.ts';
import type { Database } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { factsOf as kindFactsOf } from '@darkroom/api/facts/error-kinds';
import { taskIdForKey } from '../../domain/ids.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import { factsOf } from '../record/body-facts.ts';
import type { BodyFacts, LargeBody } from '../record/body-facts.ts';
import { acceptMany } from './accept-many.ts';
import { IdempotencyMismatchError, findReplays } from './used-keys.ts';
import type { AlongsideAccepting, ManyOutcome } from './accept-many.ts';
import type { Wanted } from './used-keys.ts';
import type { NewTask } from './accept.ts';

/** One create of several: its body, without the key. */
export interface CreateItem {
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
  /** The batch whose line it is: it may have a lower price, and waits behind other tasks. */
  readonly batchId?: string | undefined;
  /** Set where the body is large. */
  readonly large?: LargeBody | undefined;
  /** Why it is rejected, if that is known already. */
  readonly problem?: DarkroomError | undefined;
}

/** Takes tokens for new tasks. @returns 0, or the seconds to wait because there are too few. */
export type TakeMany = (tasks: number) => Promise<number>;

interface Dependencies {
  /** The database for one account. */
  readonly databaseOf: (accountId: string) => Database;
  readonly installationId: string;
  readonly mayClaim: () => boolean;
  /** Every check of a create that does not depend on the account's state. @throws {DarkroomError} */
  readonly validate: (caller: Caller, item: CreateItem, facts: BodyFacts) => Promise<NewTask>;
}

/** An item as far as it is known, until it has its outcome. */
interface OpenItem extends CreateItem {
  readonly facts: BodyFacts;
}

/**
 * @param nextTurn awaited between items: a thousand of them are much work.
 * @param alongside what else the transaction does, with the outcome of each item; it takes place without any task too.
 * @returns the outcome of each item, in their order.
 * @throws {RateLimitedError} nothing was created; the whole request may be repeated.
 */
export async function createMany(
  { databaseOf, installationId, mayClaim, validate }: Dependencies,
  caller: Caller,
  items: readonly CreateItem[],
  take: TakeMany,
  nextTurn: () => Promise<void>,
  alongside?: AlongsideAccepting,
): Promise<readonly ManyOutcome[]> {
  const { accountId } = caller;
  const database = databaseOf(accountId);
  const open: OpenItem[] = [];
  for (const item of items) {
    await nextTurn();
    open.push({ ...item, facts: item.large?.facts ?? factsOf(item.body) });
  }
  const firstOf = firstWithKey(open);
  // Contract §2: the key is looked up before the limit and before all checks.
  const replays = await findReplays(database, accountId, wantedBy(installationId, accountId, firstOf));
  const isKnown = ({ idempotencyKey }: OpenItem): boolean =>
    idempotencyKey !== undefined && replays.has(idempotencyKey);
  const isRepeated = (item: OpenItem): boolean =>
    item.idempotencyKey !== undefined && firstOf.get(item.idempotencyKey) !== item;
  const fresh = open.filter((item) => !isKnown(item) && !isRepeated(item));
  const waitSeconds = fresh.length === 0 ? 0 : await take(fresh.length);
  if (waitSeconds > 0) throw new RateLimitedError(waitSeconds);

  const rejections = new Map<OpenItem, ManyOutcome>();
  const tasks: { readonly item: OpenItem; readonly task: NewTask }[] = [];
  for (const item of fresh) {
    await nextTurn();
    try {
      if (item.problem !== undefined) throw item.problem;
      tasks.push({ item, task: await validate(caller, item, item.facts) });
    } catch (error) {
      rejections.set(item, rejectionOf(error));
    }
  }
  const outcomesWith = (accepted: readonly ManyOutcome[]): readonly ManyOutcome[] => {
    const outcomes = new Map(rejections);
    for (const [index, { item }] of tasks.entries()) {
      const outcome = accepted[index];
      if (outcome !== undefined) outcomes.set(item, outcome);
    }
    return open.map((item) => outcomeOf(item, { outcomes, replays, firstOf }));
  };
  if (tasks.length === 0 && alongside === undefined) return outcomesWith([]);
  const accepted = await acceptMany(
    database,
    accountId,
    tasks.map(({ task }) => task),
    mayClaim(),
    alongside && {
      begin: (transaction) => alongside.begin(transaction),
      end: (transaction, outcomes) => alongside.end(transaction, outcomesWith(outcomes)),
    },
  );
  return outcomesWith(accepted);
}

/** What is wrong with one item. @throws what is wrong with the service: then no item is answered. */
function rejectionOf(error: unknown): DarkroomError {
  if (error instanceof DarkroomError && kindFactsOf(error.kind).status < 500) return error;
  throw error;
}

/** The first item of each key. */
function firstWithKey(items: readonly OpenItem[]): ReadonlyMap<string, OpenItem> {
  const firstOf = new Map<string, OpenItem>();
  for (const item of items) {
    const { idempotencyKey } = item;
    if (idempotencyKey !== undefined && !firstOf.has(idempotencyKey)) firstOf.set(idempotencyKey, item);
  }
  return firstOf;
}

function wantedBy(
  installationId: string,
  accountId: string,
  items: ReadonlyMap<string, OpenItem>,
): ReadonlyMap<string, Wanted> {
  return new Map(
    [...items].map(([key, { facts }]) => [
      key,
      { taskId: taskIdForKey(installationId, accountId, key), fingerprint: facts.fingerprint },
    ]),
  );
}

function outcomeOf(
  item: OpenItem,
  known: {
    readonly outcomes: ReadonlyMap<OpenItem, ManyOutcome>;
    readonly replays: ReadonlyMap<string, ManyOutcome>;
    readonly firstOf: ReadonlyMap<string, OpenItem>;
  },
): ManyOutcome {
  const { idempotencyKey: key, facts } = item;
  const own = known.outcomes.get(item);
  if (own !== undefined) return own;
  const first = key === undefined ? undefined : known.firstOf.get(key);
  if (key === undefined || first === undefined) throw new Error('an item without an outcome');
  // A key that occurs twice names one task, as in two requests.
  if (!first.facts.fingerprint.hash.equals(facts.fingerprint.hash)) return new IdempotencyMismatchError();
  const outcome = known.replays.get(key) ?? known.outcomes.get(first);
  if (outcome === undefined) throw new Error('a key without an outcome');
  return outcome instanceof DarkroomError ? outcome : { taskId: outcome.taskId, isReplay: true };
}
