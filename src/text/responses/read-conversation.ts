/**
 * What a request refers to: the stored responses that it continues, oldest first, and single stored items. The chain
 * is read by one statement, and only up to a limit: a longer conversation would be no use to any model.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../../database/database.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { ResponseInProgressError, waitForCalls } from './wait-for-calls.ts';
import type { WaitOptions } from './wait-for-calls.ts';
import type { EarlierItems } from './decode-input.ts';
import { responseOfItem } from './items.ts';
import type { ConversationItem } from './items.ts';
import { isResponseId } from './stored-responses.ts';

/** The maximum length and stored size of a chain of responses. These limits are ours. */
export const MAX_CHAIN = { responses: 500, bytes: 16_000_000 } as const;

/** What a request refers to has no answer yet. */
export class EarlierInProgressError extends InvalidTextRequest {
  constructor(param: string, { message }: ResponseInProgressError) {
    super(param, `${param}: ${message}`, 'response_in_progress');
  }

  override get waitsFor(): WaitReason {
    return 'response';
  }
}

/** What a request refers to. */
export interface Reference {
  readonly previousResponseId: string | undefined;
  /** The ids of its `item_reference`s (decode-input.ts). */
  readonly itemIds: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly wait?: WaitOptions;
}

const PARAM = 'previous_response_id';

/**
 * An item of the conversation is found there; any other is looked up in the stored response that its id names. An item
 * that does not exist is left to the code that resolves it (decode-input.ts).
 *
 * @throws {InvalidTextRequest} the response, or one before it, is not found, is still in progress, or has too much
 *   before it.
 */
export async function readConversation(
  database: Queryable,
  accountId: string,
  reference: Reference,
): Promise<EarlierItems> {
  const { previousResponseId } = reference;
  const conversation =
    previousResponseId === undefined ? [] : await readChain(database, accountId, previousResponseId, reference);
  const known = new Set(conversation.map(({ id }) => id));
  const unknown = reference.itemIds.filter((id) => !known.has(id));
  const referenced = unknown.length === 0 ? new Map() : await readItems(database, accountId, unknown, reference);
  return { conversation, referenced };
}

/** The bounds are checked with the keys alone; what is beyond them is not read. */
const selectChain: Statement = {
  name: 'select_text_response_chain',
  text: `WITH RECURSIVE chain AS (
           SELECT id, previous_id, 1 AS depth, bytes::bigint AS total FROM text_responses
            WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL AND expires_at > $3
           UNION ALL
           SELECT r.id, r.previous_id, c.depth + 1, c.total + r.bytes
             FROM chain c JOIN text_responses r ON r.id = c.previous_id
            WHERE r.account_id = $2 AND r.deleted_at IS NULL AND r.expires_at > $3
              AND c.depth <= $4 AND c.total <= $5)
         , whole AS (SELECT count(*) <= $4 AND max(total) <= $5 AS fits FROM chain)
         SELECT c.previous_id AS "previousId", w.fits,
                CASE WHEN w.fits THEN r.input END AS input,
                CASE WHEN w.fits THEN r.output END AS output
           FROM chain c CROSS JOIN whole w JOIN text_responses r USING (id)
          ORDER BY c.depth DESC`,
};

interface ChainRow {
  readonly previousId: string | null;
  readonly fits: boolean;
  readonly input: readonly ConversationItem[] | null;
  readonly output: readonly ConversationItem[] | null;
}

async function readChain(
  database: Queryable,
  accountId: string,
  id: string,
  { now, wait }: Reference,
): Promise<readonly ConversationItem[]> {
  const notFound = (): InvalidTextRequest =>
    new InvalidTextRequest(
      PARAM,
      `${PARAM}: no response is called ${JSON.stringify(id.slice(0, 64))}, or an earlier one was deleted`,
      'previous_response_not_found',
    );
  if (!isResponseId(id)) throw notFound();
  const { responses, bytes } = MAX_CHAIN;
  const read = (): Promise<readonly ChainRow[]> =>
    database.query<ChainRow>(selectChain, [id, accountId, new Date(now), responses, bytes]);
  let rows = await read();
  if (rows.length === 0) {
    await waitFor(database, accountId, [id], PARAM, wait);
    rows = await read();
  }
  const [oldest] = rows;
  if (oldest === undefined) throw notFound();
  if (!oldest.fits) {
    const message = `${PARAM}: the conversation is longer than ${responses} responses or ${bytes / 1_000_000} MB`;
    throw new InvalidTextRequest(PARAM, message, 'context_length_exceeded');
  }
  if (oldest.previousId !== null) throw notFound();
  return rows.flatMap(({ input, output }) => [...(input ?? []), ...(output ?? []).filter(isOfUse)]);
}

const ITEM_TYPES: readonly string[] = [
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'image_generation_call',
];

/** A call that was cut off cannot have been answered, and an upstream's own items mean nothing to another model. */
function isOfUse({ type, status }: ConversationItem): boolean {
  return ITEM_TYPES.includes(type) && (type !== 'function_call' || status !== 'incomplete');
}

/** @throws {InvalidTextRequest} */
async function waitFor(
  database: Queryable,
  accountId: string,
  ids: readonly string[],
  param: string,
  wait: WaitOptions | undefined,
): Promise<void> {
  try {
    await waitForCalls(database, accountId, ids, wait);
  } catch (error) {
    if (!(error instanceof ResponseInProgressError)) throw error;
    throw new EarlierInProgressError(param, error);
  }
}

const selectItems: Statement = {
  name: 'select_text_response_items',
  text: `SELECT input, output FROM text_responses
          WHERE id = ANY($1) AND account_id = $2 AND deleted_at IS NULL AND expires_at > $3`,
};

async function readItems(
  database: Queryable,
  accountId: string,
  itemIds: readonly string[],
  { now, wait }: Reference,
): Promise<ReadonlyMap<string, ConversationItem>> {
  const ids = [...new Set(itemIds.map(responseOfItem))].filter((id) => id !== undefined).filter(isResponseId);
  const found = new Map<string, ConversationItem>();
  if (ids.length === 0) return found;
  if (ids.length > MAX_CHAIN.responses) {
    const message = `input: references to items of more than ${MAX_CHAIN.responses} responses`;
    throw new InvalidTextRequest('input', message);
  }
  const read = (): Promise<readonly { input: ConversationItem[]; output: ConversationItem[] }[]> =>
    database.query(selectItems, [ids, accountId, new Date(now)]);
  let rows = await read();
  if (rows.length < ids.length) {
    await waitFor(database, accountId, ids, 'input', wait);
    rows = await read();
  }
  const wanted = new Set(itemIds);
  for (const { input, output } of rows) {
    for (const item of [...input, ...output]) if (wanted.has(item.id)) found.set(item.id, item);
  }
  return found;
}
