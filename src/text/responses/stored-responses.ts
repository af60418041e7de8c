/**
 * Stored responses (contract §9): written once, at the end of their call, read by their own account only, deleted after
 * 30 days or on request. A request that continues a deleted response is rejected.
 *
 * A response whose call is still in progress has no row yet; a reader waits for it for a while (wait-for-calls.ts).
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { fileIdOf } from '../images.ts';
import type { BilledUsage } from '../tally.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { withoutTaskImage } from './image-calls.ts';
import { withIncluded } from './included.ts';
import { nameInputItems } from './items.ts';
import type { ConversationItem, InputPart, UnnamedInputItem } from './items.ts';
import { countReplayed, replayFrames } from './replay.ts';
import type { DeltaCuts } from './replay.ts';
import { wireUsage } from './response-object.ts';
import { ResponseInProgressError, waitForCalls } from './wait-for-calls.ts';
import type { WaitOptions } from './wait-for-calls.ts';

/** How many days a response is stored: as long as OpenAI stores it. */
export const RESPONSE_RETENTION_DAYS = 30;
const RETENTION_MS = RESPONSE_RETENTION_DAYS * 24 * 60 * 60 * 1000;

/** The response does not exist, is of another account, or was deleted: one error for all (contract §1). */
export class ResponseNotFoundError extends DarkroomError {
  override readonly name = 'ResponseNotFoundError';
  override readonly kind = 'not_found';

  constructor(id: string) {
    super(`no response is called ${JSON.stringify(id.slice(0, 64))}`);
  }
}

export interface ResponseToSave {
  readonly id: string;
  readonly accountId: string;
  readonly previousId: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly response: Readonly<Record<string, unknown>>;
  readonly input: readonly UnnamedInputItem[];
  /** For its stream, if there was one. */
  readonly deltas?: DeltaCuts | undefined;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
}

const insertResponse: Statement = {
  name: 'insert_text_response',
  text: `INSERT INTO text_responses
           (id, account_id, previous_id, created_at, expires_at, response, input, output, bytes, deltas)
         VALUES ($1, $2, $3, $4, $5, $6::json, $7::json, $8::json, $9, $10::json) ON CONFLICT (id) DO NOTHING`,
};

/**
 * Stores a response. A second time changes nothing. Readers conclude that a settled call without a row left nothing,
 * so this has to come before its settlement, or with it.
 */
export async function saveResponse(database: Queryable, saved: ResponseToSave): Promise<void> {
  const { id, accountId, previousId, now } = saved;
  await saved.nextTurn?.();
  const { output: whole = [] } = saved.response;
  const output = Array.isArray(whole) ? whole.map((item: object) => withoutTaskImage(item)) : whole;
  // Its position among the fields is preserved.
  const fields = { ...saved.response, output: null };
  const input = nameInputItems(id, saved.input).map((item) => withoutTaskImage(item));
  const texts = [fields, input, output].map((part) => JSON.stringify(part));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const times = [new Date(now), new Date(now + RETENTION_MS)];
  const deltas = saved.deltas === undefined ? null : JSON.stringify(saved.deltas);
  await saved.nextTurn?.();
  await database.query(insertResponse, [id, accountId, previousId ?? null, ...times, ...texts, bytes, deltas]);
}

const lockFields: Statement = {
  name: 'lock_text_response',
  text: 'SELECT response FROM text_responses WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
};
const updateFields: Statement = {
  name: 'update_text_response',
  text: `UPDATE text_responses SET response = $2::text::json,
                bytes = bytes + octet_length($2::text) - octet_length(response::text)
          WHERE id = $1`,
};

/** Records the usage of a response that was stored before it was known. One that was deleted stays so. */
export async function saveUsage(transaction: Queryable, id: string, usage: BilledUsage): Promise<void> {
  const [row] = await transaction.query<Pick<StoredRow, 'response'>>(lockFields, [id]);
  if (row === undefined) return;
  await transaction.query(updateFields, [id, JSON.stringify({ ...row.response, usage: wireUsage(usage) })]);
}

export interface ReaderOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly wait?: WaitOptions;
}

/** What a reader adds to the stored output: the images of tasks. */
type Complete = (output: readonly ConversationItem[]) => Promise<readonly ConversationItem[]>;

const selectResponse: Statement = {
  name: 'select_text_response',
  text: `SELECT response, input, output, deltas FROM text_responses
          WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL AND expires_at > $3`,
};

interface StoredRow {
  readonly response: Readonly<Record<string, unknown>>;
  readonly input: readonly ConversationItem[];
  readonly output: readonly ConversationItem[];
  readonly deltas: DeltaCuts | null;
}

/**
 * The response object as it was returned; if the call is still in progress after some waiting, an object with `status:
 * "in_progress"` and little else.
 *
 * @throws {ResponseNotFoundError} @throws {InvalidTextRequest} it does not have what is to be included.
 */
export async function readResponse(
  database: Queryable,
  accountId: string,
  id: string,
  {
    include = [],
    complete = unchanged,
    ...options
  }: ReaderOptions & { readonly include?: readonly string[] | undefined; readonly complete?: Complete },
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { response, output } = await readRow(database, accountId, id, options);
    return { ...response, output: await complete(withIncluded(output, include)) };
  } catch (error) {
    if (error instanceof ResponseInProgressError) return error.response;
    throw error;
  }
}

/**
 * The stream of a response, rebuilt from what was stored: each text is one server-sent event, the last is not
 * `[DONE]`.
 *
 * @throws {ResponseNotFoundError} @throws {ResponseInProgressError} its call is still in progress.
 * @throws {InvalidTextRequest} it does not have what is to be included, or no such event.
 */
export async function streamResponse(
  database: Queryable,
  accountId: string,
  id: string,
  {
    include = [],
    startingAfter,
    complete = unchanged,
    ...options
  }: ReaderOptions & {
    readonly include?: readonly string[] | undefined;
    readonly complete?: Complete;
    /** The `sequence_number` of the event after which it begins. */
    readonly startingAfter?: number | undefined;
  },
): Promise<Iterable<string>> {
  const { response, output, deltas } = await readRow(database, accountId, id, options);
  const whole = { ...response, output: await complete(withIncluded(output, include)) };
  const cuts = deltas ?? {};
  if (startingAfter !== undefined) {
    const last = countReplayed(whole, cuts) - 1;
    if (startingAfter > last) {
      const message = `starting_after: got ${startingAfter}, and the last event of this response is ${last}`;
      throw new InvalidTextRequest('starting_after', message);
    }
  }
  return replayFrames(whole, cuts, startingAfter);
}

const unchanged: Complete = (output) => Promise.resolve(output);

/** @throws {ResponseNotFoundError} @throws {ResponseInProgressError} */
async function readRow(
  database: Queryable,
  accountId: string,
  id: string,
  { now, wait }: ReaderOptions,
): Promise<StoredRow> {
  const read = async (): Promise<StoredRow | undefined> => {
    const [row] = await database.query<StoredRow>(selectResponse, [id, accountId, new Date(now)]);
    return row;
  };
  if (!isResponseId(id)) throw new ResponseNotFoundError(id);
  let row = await read();
  if (row === undefined) {
    await waitForCalls(database, accountId, [id], wait);
    row = await read();
  }
  if (row === undefined) throw new ResponseNotFoundError(id);
  return row;
}

/**
 * Whether a string can be the id of a response. Others need no lookup, and may contain characters that the database
 * cannot store.
 */
export function isResponseId(id: string): boolean {
  return /^[\w-]{1,128}$/.test(id);
}

const deleteStatement: Statement = {
  name: 'delete_text_response',
  text: `UPDATE text_responses SET deleted_at = $3, response = NULL, input = NULL, output = NULL, deltas = NULL, bytes = 0
          WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL AND expires_at > $3 RETURNING id`,
};

/**
 * Removes the request and the answer. Responses that continued this one can no longer be continued themselves.
 *
 * @returns OpenAI's object of a deletion.
 * @throws {ResponseNotFoundError} @throws {ResponseInProgressError} its call is still in progress.
 */
export async function deleteResponse(
  database: Queryable,
  accountId: string,
  id: string,
  { now, wait }: ReaderOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const remove = async (): Promise<boolean> => {
    const rows = await database.query(deleteStatement, [id, accountId, new Date(now)]);
    return rows.length > 0;
  };
  if (!isResponseId(id)) throw new ResponseNotFoundError(id);
  if (!(await remove())) {
    await waitForCalls(database, accountId, [id], wait);
    if (!(await remove())) throw new ResponseNotFoundError(id);
  }
  return { id, object: 'response', deleted: true };
}

export interface InputItemPage {
  /** The maximum number of items: at most 100; default 20. */
  readonly limit?: number;
  /** Default: the last item first. */
  readonly order?: 'asc' | 'desc';
  /** The id of the item that the page comes after. */
  readonly after?: string;
}

/**
 * The items of a response's own input, without the conversation that it continues, as OpenAI lists them. After an item
 * that does not exist, the list is empty.
 *
 * @throws {ResponseNotFoundError} @throws {ResponseInProgressError} its call is still in progress.
 */
export async function listInputItems(
  database: Queryable,
  accountId: string,
  id: string,
  { limit = 20, order = 'desc', after, ...options }: InputItemPage & ReaderOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const { input } = await readRow(database, accountId, id, options);
  const items = order === 'asc' ? input : input.toReversed();
  const index = after === undefined ? -1 : items.findIndex((item) => item.id === after);
  const rest = after !== undefined && index === -1 ? [] : items.slice(index + 1);
  const data = rest.slice(0, limit);
  return {
    object: 'list',
    data: data.map(withFileIds),
    first_id: data.at(0)?.id ?? '',
    last_id: data.at(-1)?.id ?? '',
    has_more: rest.length > data.length,
  };
}

/** An item as clients know it: an image that is a file has no URL. */
function withFileIds(item: ConversationItem): object {
  const shown = (part: InputPart): object => {
    const fileId = part.type === 'input_image' ? fileIdOf(part.image_url) : undefined;
    return fileId === undefined ? part : { ...part, image_url: null, file_id: fileId };
  };
  if (item.type === 'message' && item.role !== 'assistant') return { ...item, content: item.content.map(shown) };
  if (item.type !== 'function_call_output' || typeof item.output === 'string') return item;
  return { ...item, output: item.output.map(shown) };
}

const deleteExpired: Statement = {
  name: 'delete_expired_text_responses',
  text: `DELETE FROM text_responses
          WHERE id IN (SELECT id FROM text_responses WHERE expires_at <= $1
                        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Removes responses that can no longer be found: one batch, because each row may hold megabytes.
 *
 * @param now milliseconds since 1970.
 * @returns how many.
 */
export async function deleteExpiredResponses(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  return (await database.query(deleteExpired, [new Date(now), limit])).length;
}
