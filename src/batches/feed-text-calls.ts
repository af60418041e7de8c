/**
 * Makes text calls in the background of lines, in the transaction that moves the batch's pointer over them. A call reads
 * its line again when it is run, and holds then.
 */
import type { Caller } from '../accounts/authenticate.ts';
import { DarkroomError, factsOf } from '../domain/darkroom-error.ts';
import { textCallIdForLine } from '../domain/ids.ts';
import { insertBatchCalls } from '../text/background/call-record.ts';
import type { NewBatchCall } from '../text/background/call-record.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, TextEndpoint } from './context.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { lockForFeeding, recordFed } from './record-fed.ts';
import type { Rejection } from './record-fed.ts';

/**
 * @param caller why the key may make no requests, if it may not.
 * @returns how many lines were fed. @throws {OvertakenError}
 */
export async function feedTextCalls(
  context: BatchContext,
  batch: Batch,
  endpoint: TextEndpoint,
  caller: Caller | DarkroomError,
  lines: readonly InputLine[],
): Promise<number> {
  const last = lines.at(-1);
  if (last === undefined) return 0;
  const { accountId, keyId, id: batchId } = batch;
  const { surface } = endpoint;
  const calls: NewBatchCall[] = [];
  const rejections: Rejection[] = [];
  for (const line of lines) {
    await context.nextTurn();
    const problem = problemOf(endpoint, caller, batch, line);
    if (problem === undefined) {
      const id = textCallIdForLine(surface, context.installationId, accountId, lineKey(batchId, line.index));
      calls.push({ id, line: line.index, lineBegin: line.beginByte });
    } else {
      rejections.push({ line: line.index, response: endpoint.reject(problem) });
    }
  }
  await context.database.transaction(async (transaction) => {
    await lockForFeeding(transaction, batch);
    if (calls.length > 0) await insertBatchCalls(transaction, { batchId, accountId, keyId, surface }, calls);
    await recordFed(transaction, batch, last, rejections);
  });
  context.wakeLauncher();
  return lines.length;
}

/** @returns why a line is rejected before it is run, if it is. */
function problemOf(
  endpoint: TextEndpoint,
  caller: Caller | DarkroomError,
  batch: Batch,
  line: InputLine,
): DarkroomError | undefined {
  const { body, problem } = parseLine(line, batch.endpoint);
  if (problem !== undefined) return problem;
  if (caller instanceof DarkroomError) return caller;
  try {
    endpoint.check(caller, body);
    return undefined;
  } catch (error) {
    if (error instanceof DarkroomError && factsOf(error.kind).status < 500) return error;
    throw error;
  }
}
