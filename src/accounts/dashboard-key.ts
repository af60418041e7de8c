/**
 * The key that a link to the dashboard stands for if none is named: links are printed by `npm start` and by
 * `admin sign-in-link`, whose users are operators and may do everything.
 */
import type { Queryable } from '../database/database.ts';
import { SCOPES } from './api-key.ts';
import { createKey, listKeys } from './keys.ts';
import type { KeyListing } from './keys.ts';

/**
 * The account's key with the widest rights that may sign in, the newest of these; one is created if there is none.
 * Its secret is then never disclosed: it serves sessions only.
 *
 * @param now milliseconds since 1970.
 * @returns its id. @throws {AccountNotFoundError}
 */
export async function dashboardKey(database: Queryable, accountId: string, now: number): Promise<string> {
  const usable = (await listKeys(database, accountId)).filter((key) => mayStillSignIn(key, now));
  const [widest] = usable.toSorted(
    (one, other) => breadth(other) - breadth(one) || other.createdAt.getTime() - one.createdAt.getTime(),
  );
  if (widest !== undefined) return widest.id;
  const made = await createKey(database, accountId, { name: 'dashboard', scopes: SCOPES });
  return made.id;
}

function mayStillSignIn({ scopes, revokedAt, expiresAt }: KeyListing, now: number): boolean {
  return scopes.includes('dashboard') && revokedAt === undefined && (expiresAt?.getTime() ?? Infinity) > now;
}

/** Scopes first; limits make a key narrower than any that lacks them. */
function breadth({ scopes, models, spendCapIds, expiresAt }: KeyListing): number {
  const limits = [models !== undefined, spendCapIds.length > 0, expiresAt !== undefined].filter(Boolean).length;
  return scopes.length - limits * SCOPES.length;
}
