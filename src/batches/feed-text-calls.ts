/**
 * Makes text calls in the background of lines, in the transaction that moves the batch's pointer over them. A call reads
 * its line again when it is run, and holds then.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Caller } from '../accounts/authenticate.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { textCallIdForLine } from '../domain/ids.ts';
import { insertBatchCalls } from '../text/background/queue.ts';
import type { NewBatchCall } from '../text/background/queue.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, TextEndpoint } from './context.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { lockForFeeding, outcomeOf, recordFed } from './record-fed.ts';
import type { Fed, Rejection } from './record-fed.ts';

/**
 * @param caller why the key may make no requests any more, if it may not.
 * @returns fewer lines than there are if the next one has to wait. @throws {OvertakenError}
 */
export async function feedTextCalls(
  context: BatchContext,
  batch: Batch,
  endpoint: TextEndpoint,
  caller: Caller | DarkroomError,
  lines: readonly InputLine[],
  signal: AbortSignal,
): Promise<Fed> {
  const { accountId, keyId, id: batchId } = batch;
  const { surface } = endpoint;
  const calls: NewBatchCall[] = [];
  const rejections: Rejection[] = [];
  let last: InputLine | undefined;
  let waitingFor: WaitReason | undefined;
  for (const line of lines) {
    await context.nextTurn();
    const problem = await problemOf(context, endpoint, caller, batch, line, signal);
    waitingFor = problem?.waitsFor;
    if (waitingFor !== undefined) break;
    last = line;
    if (problem === undefined) {
      const id = textCallIdForLine(surface, context.installationId, accountId, lineKey(batchId, line.index));
      calls.push({ id, line: line.index, lineBegin: line.beginByte });
    } else {
      rejections.push({ line: line.index, response: endpoint.reject(problem) });
    }
  }
  const end = last;
  if (end === undefined) return { lines: 0, waitingFor };
  await context.accountDatabase(accountId).transaction(async (transaction) => {
    await lockForFeeding(transaction, batch);
    if (calls.length > 0) await insertBatchCalls(transaction, { batchId, accountId, keyId, surface }, calls);
    await recordFed(transaction, batch, end, rejections);
  });
  context.wakeDueWork();
  return { lines: calls.length + rejections.length, waitingFor };
}

/** @returns why a line is rejected before it is run, or has to wait, if it is. */
async function problemOf(
  context: BatchContext,
  endpoint: TextEndpoint,
  caller: Caller | DarkroomError,
  batch: Batch,
  line: InputLine,
  signal: AbortSignal,
): Promise<DarkroomError | undefined> {
  try {
    const { body, problem } = await parseLine(context, batch, line, 'body', signal);
    if (problem !== undefined) return problem;
    if (caller instanceof DarkroomError) return caller;
    endpoint.check(caller, body);
    return undefined;
  } catch (error) {
    return outcomeOf(error);
  }
}
