/**
 * Keys that are created and changed with a key: "No key makes or changes a key with more scopes, models, caps or
 * lifetime than its own" (contract §7). The rights of the acting key are read again in the transaction, under a lock:
 * a key that was revoked a moment ago creates no key any more, whatever a process still has cached of it.
 */
import type { Database, Queryable, Statement } from '../database/database.ts';
import { formatUsd } from '../domain/money.ts';
import { lockAccount } from './accounts.ts';
import { ForbiddenError, UnauthenticatedError } from './authenticate.ts';
import type { Caller } from './authenticate.ts';
import { KeyChangeRejectedError, createKey, readKey, revokeKey, rotateKey } from './keys.ts';
import type { KeyListing, KeyRights, CreatedKey, SpendCaps } from './keys.ts';

/** The maximum number of valid keys of an account, not counting replaced keys that are about to expire. */
const MAX_KEYS = 100;
/** The maximum number of inherited caps of a key. Each of its tasks is charged to all of them. */
const MAX_INHERITED_CAPS = 10;

const countKeys: Statement = {
  name: 'count_keys',
  text: `SELECT count(*)::integer AS keys FROM api_keys
          WHERE account_id = $1 AND revoked_at IS NULL AND replaced_by IS NULL
            AND (expires_at IS NULL OR expires_at > $2)`,
};
const selectTightestCaps: Statement = {
  name: 'select_tightest_caps',
  text: `SELECT min(day_micro_usd) AS "dayMicroUsd", min(total_micro_usd) AS "totalMicroUsd"
           FROM spend_caps WHERE id = ANY ($1)`,
};

/**
 * Creates a key with a key.
 *
 * @param now milliseconds since 1970.
 * @throws {ForbiddenError} naming what is too much. @throws {KeyChangeRejectedError} the account has as many keys as it
 * may.
 * @throws {UnauthenticatedError} the acting key was revoked in the meantime.
 */
export function createKeyWith(database: Database, caller: Caller, rights: KeyRights, now: number): Promise<CreatedKey> {
  return database.transaction(async (transaction) => {
    const own = await requireDelegable(transaction, caller, rights, now);
    const [row] = await transaction.query<{ keys: number }>(countKeys, [caller.accountId, new Date(now)]);
    if ((row?.keys ?? 0) >= MAX_KEYS) {
      throw new KeyChangeRejectedError(`this account has ${MAX_KEYS} keys already; revoke one that is not needed`);
    }
    return createKey(transaction, caller.accountId, rights, own.spendCapIds);
  });
}

/**
 * Whether a key may grant rights, to another key or to a token. The account stays locked until the transaction ends.
 *
 * @returns the acting key. @throws as `createKeyWith`.
 */
export async function requireDelegable(
  transaction: Queryable,
  caller: Caller,
  rights: Extent & { readonly spendCaps?: SpendCaps | undefined },
  now: number,
): Promise<KeyListing> {
  await lockAccount(transaction, caller.accountId);
  const own = await actingKey(transaction, caller, now);
  requireWithin(own, rights);
  await requireCapsWithin(transaction, own, rights.spendCaps ?? {});
  if (own.spendCapIds.length >= MAX_INHERITED_CAPS && rights.spendCaps !== undefined) {
    throw new KeyChangeRejectedError(`a key can inherit at most ${MAX_INHERITED_CAPS} spend caps`);
  }
  return own;
}

/**
 * Rotates a key of the same account with a key: itself, or one with no more rights.
 *
 * @throws {KeyNotFoundError} @throws {ForbiddenError} @throws {KeyChangeRejectedError} @throws {UnauthenticatedError}
 */
export function rotateKeyWith(
  database: Database,
  caller: Caller,
  keyId: string,
  rotation: { readonly now: number; readonly overlapSeconds?: number },
): Promise<CreatedKey> {
  return database.transaction(async (transaction) => {
    await requireMayChange(transaction, caller, keyId, rotation.now);
    return rotateKey(transaction, keyId, { ...rotation, accountId: caller.accountId });
  });
}

/**
 * Revokes a key of the same account with a key: itself, or one with no more rights.
 *
 * @throws {KeyNotFoundError} @throws {ForbiddenError} @throws {UnauthenticatedError}
 */
export function revokeKeyWith(database: Database, caller: Caller, keyId: string, now: number): Promise<void> {
  return database.transaction(async (transaction) => {
    await requireMayChange(transaction, caller, keyId, now);
    await revokeKey(transaction, keyId, caller.accountId);
  });
}

/** The acting key, as it is now; it stays so until the transaction ends. */
async function actingKey(
  transaction: Queryable,
  caller: Caller,
  now: number,
  lock: 'act' | 'change' = 'act',
): Promise<KeyListing> {
  const own = await readKey(transaction, caller.keyId, caller.accountId, lock);
  const hasEnded = own.expiresAt !== undefined && own.expiresAt.getTime() <= now;
  if (own.revokedAt !== undefined || hasEnded) throw new UnauthenticatedError();
  return own;
}

async function requireMayChange(transaction: Queryable, caller: Caller, keyId: string, now: number): Promise<void> {
  await lockAccount(transaction, caller.accountId);
  const isItself = keyId === caller.keyId;
  const own = await actingKey(transaction, caller, now, isItself ? 'change' : 'act');
  if (isItself) return;
  const target = await readKey(transaction, keyId, caller.accountId);
  requireWithin(own, target);
  if (own.spendCapIds.some((capId) => !target.spendCapIds.includes(capId))) {
    throw new ForbiddenError('a key can only change keys to which its own spend caps apply');
  }
}

type Extent = Pick<KeyListing, 'scopes'> & {
  readonly models?: readonly string[] | undefined;
  readonly expiresAt?: Date | undefined;
};

const OWN_MODELS_ONLY = 'a key can only grant models that it may use itself';

/** @throws {ForbiddenError} naming the first right that goes beyond. */
function requireWithin(own: KeyListing, wanted: Extent): void {
  const scope = wanted.scopes.find((each) => !own.scopes.includes(each));
  if (scope !== undefined) {
    throw new ForbiddenError(`this key lacks the scope ${scope}; a key can only grant scopes that it has itself`);
  }
  if (own.models !== undefined) {
    if (wanted.models === undefined) {
      throw new ForbiddenError(`this key may not use every model; ${OWN_MODELS_ONLY}: set \`models\``);
    }
    const model = wanted.models.find((each) => own.models?.includes(each) === false);
    if (model !== undefined) {
      throw new ForbiddenError(`this key may not use the model ${model}; ${OWN_MODELS_ONLY}`);
    }
  }
  if (own.expiresAt === undefined) return;
  if (wanted.expiresAt === undefined || wanted.expiresAt > own.expiresAt) {
    const seconds = Math.floor(own.expiresAt.getTime() / 1000);
    throw new ForbiddenError(`this key expires at ${seconds}; a key cannot grant a later \`expiresAt\` or none`);
  }
}

/** A key without caps of its own is bound by those of the key that creates it; it need not name them. */
async function requireCapsWithin(transaction: Queryable, own: KeyListing, wanted: SpendCaps): Promise<void> {
  const [caps] = await transaction.query<{ dayMicroUsd: bigint | null; totalMicroUsd: bigint | null }>(
    selectTightestCaps,
    [own.spendCapIds],
  );
  for (const [field, period] of [
    ['dayMicroUsd', 'a day'],
    ['totalMicroUsd', 'in total'],
  ] as const) {
    const cap = caps?.[field] ?? undefined;
    const more = wanted[field];
    if (cap !== undefined && more !== undefined && more > cap) {
      throw new ForbiddenError(
        `this key may spend ${formatUsd(cap)} USD ${period}; a key cannot grant more: got ${formatUsd(more)} USD`,
      );
    }
  }
}
