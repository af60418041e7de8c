/**
 * Responses in the background that were requested with an Idempotency-Key (contract §9.6). The id of such a response
 * follows from its key, and a row that is never deleted says which request it belongs to.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { IdempotencyMismatchError } from '../../tasks/create/used-keys.ts';
import type { Fingerprint } from '../../tasks/record/fingerprint.ts';

/** A request with a key. */
export interface KeyedRequest {
  /** The id that follows from the key. */
  readonly responseId: string;
  readonly accountId: string;
  readonly fingerprint: Fingerprint;
}

const selectKey: Statement = {
  name: 'select_response_key',
  text: 'SELECT fingerprint FROM response_keys WHERE response_id = $1 AND account_id = $2',
};

/**
 * @returns whether an equal request was accepted before. @throws {IdempotencyMismatchError} another request was
 *   accepted with this key.
 */
export async function isAccepted(
  database: Queryable,
  { responseId, accountId, fingerprint }: KeyedRequest,
): Promise<boolean> {
  const [row] = await database.query<{ fingerprint: Buffer }>(selectKey, [responseId, accountId]);
  if (row === undefined) return false;
  if (!row.fingerprint.equals(fingerprint.hash)) throw new IdempotencyMismatchError();
  return true;
}

const insertKey: Statement = {
  name: 'insert_response_key',
  text: `INSERT INTO response_keys (response_id, account_id, fingerprint, fingerprint_version) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING response_id`,
};

/**
 * Takes the key in the transaction that accepts its request. A transaction that is taking it at this moment is waited
 * for.
 *
 * @returns false: an equal request was accepted before. @throws {IdempotencyMismatchError}
 */
export async function takeKey(transaction: Queryable, request: KeyedRequest): Promise<boolean> {
  const { responseId, accountId, fingerprint } = request;
  const taken = await transaction.query(insertKey, [responseId, accountId, fingerprint.hash, fingerprint.version]);
  return taken.length > 0 || !(await isAccepted(transaction, request));
}
